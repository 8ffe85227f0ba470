/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.io.StringReader;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.config.YamlPropertiesFactoryBean;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.readme.Markdown.Block;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the pages of the documentation show code, properties, dependencies and
 * statements that exist, and that their links lead somewhere.
 */
@Order(3)
class DocumentationTests {

	private static final List<Markdown> PAGES = Markdown.pages();

	private static final Path ROOT = Path.of("..");

	private static final Path SITE = ROOT.resolve("docs/site/site.xml");

	// Not changed yet.
	private static final Set<String> WITHOUT_READERS = Set.of("benchmarks.md", "combinations.md", "compatibility.md");

	private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+(?:Tests|Contract))`");

	private static final Pattern ARTIFACT = Pattern.compile("dev\\.idempotency:(idempotency-[\\w-]+):([\\w.-]+)");

	private static final Pattern DEPENDENCY = Pattern.compile("<groupId>dev\\.idempotency</groupId>\\s*"
			+ "<artifactId>([^<]*)</artifactId>\\s*(?:<version>([^<]*)</version>)?");

	@ParameterizedTest
	@MethodSource("pages")
	void everyPartOfAJavaBlockIsInOneSourceThatTheBuildCompiles(Markdown page) {
		Set<String> sources = Stream.concat(Sources.ALL.code().stream(), compiled()).collect(Collectors.toSet());
		assertThat(page.blocks("java")).allMatch((block) -> {
			List<String> parts = Stream.of(block.content().split("\n\\s*\n")).map(DocumentationTests::compact).toList();
			return sources.stream().anyMatch((source) -> parts.stream().allMatch(source::contains));
		});
	}

	// The examples that are complete files are compiled by ReadmeTests.
	private static Stream<String> compiled() {
		return Stream
			.concat(Stream.of(Readme.Store.values()).flatMap((store) -> Readme.sources(store).values().stream()),
					GettingStarted.sources().values().stream())
			.map(DocumentationTests::compact);
	}

	// An example may be a nested class of a test, where the formatter wraps other lines.
	private static String compact(String code) {
		return code.replaceAll("\\bstatic (class|record|interface|enum)\\b", "$1").replaceAll("\\s+", "");
	}

	@ParameterizedTest
	@MethodSource("pages")
	void everyPropertyOfABlockExists(Markdown page) throws IOException {
		List<String> unknown = new ArrayList<>();
		for (Block block : page.blocks("yaml")) {
			if (!block.content().startsWith("services:") && !block.content().startsWith("databaseChangeLog:")) {
				YamlPropertiesFactoryBean yaml = new YamlPropertiesFactoryBean();
				yaml.setResources(new ByteArrayResource(block.content().getBytes(StandardCharsets.UTF_8)));
				unknown.addAll(unknown(block, yaml.getObject()));
			}
		}
		for (Block block : page.blocks("properties")) {
			Properties properties = new Properties();
			properties.load(new StringReader(block.content()));
			unknown.addAll(unknown(block, properties));
		}
		assertThat(unknown).isEmpty();
	}

	private static List<String> unknown(Block block, Properties properties) {
		return properties.stringPropertyNames()
			.stream()
			.map((name) -> name.replaceAll("\\[\\d+]", ""))
			.filter((name) -> !Metadata.ALL.contains(name) && !isOfStreams(name))
			.map((name) -> block + ": " + name)
			.toList();
	}

	// Spring Cloud Stream is not on this class path. Another module tests its properties.
	private static boolean isOfStreams(String name) {
		String last = name.substring(name.lastIndexOf('.') + 1);
		return name.startsWith("spring.cloud.") && Sources.ALL.texts()
			.stream()
			.anyMatch((source) -> source.contains("spring.cloud.stream") && source.contains(last + "="));
	}

	@ParameterizedTest
	@MethodSource("pages")
	void everyDependencyIsAModuleOfThisVersion(Markdown page) throws IOException {
		Stream<Matcher> matchers = Stream.of(DEPENDENCY.matcher(page.text()), ARTIFACT.matcher(page.text()));
		String version = Files.readString(ROOT.resolve("pom.xml")).replaceAll("(?s).*<revision>([^<]*)<.*", "$1");
		assertThat(matchers.flatMap(Matcher::results)).allSatisfy((artifact) -> {
			assertThat(ROOT.resolve(artifact.group(1)).resolve("pom.xml")).exists();
			assertThat(artifact.group(2)).isIn(null, version);
		});
	}

	@Test
	void everyStatementRuns() throws IOException {
		List<Block> statements = new ArrayList<>();
		for (Markdown page : PAGES) {
			List<String> readers = List.of("Path.of(\"" + page.file() + "\")",
					"Page.of(\"" + page.file().getFileName() + "\")");
			boolean run = Sources.ALL.texts()
				.stream()
				.anyMatch((source) -> readers.stream().anyMatch(source::contains));
			page.blocks("sql")
				.stream()
				.filter((block) -> !run
						&& !Sources.ALL.code().stream().anyMatch((source) -> source.contains(compact(block.content()))))
				.forEach(statements::add);
		}
		try (ConfigurableApplicationContext context = TestApp.of()
			.database(Servers.newDatabase())
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.relay", "none")
			.run()) {
			JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
			TransactionTemplate transaction = new TransactionTemplate(
					context.getBean(PlatformTransactionManager.class));
			assertThat(statements).allSatisfy((statement) -> transaction.executeWithoutResult((status) -> {
				status.setRollbackOnly();
				jdbc.execute(statement.content());
			}));
		}
	}

	@ParameterizedTest
	@MethodSource("pages")
	void everyLinkLeadsToAFileAndAHeading(Markdown page) {
		assertThat(page.links()).allMatch((link) -> link.matches("[a-z]+:.*") ? isValid(link) : exists(page, link));
	}

	private static boolean isValid(String link) {
		URI uri = URI.create(link);
		return Set.of("http", "https").contains(uri.getScheme()) && uri.getHost() != null;
	}

	private static boolean exists(Markdown page, String link) {
		String[] target = link.split("#", 2);
		Path file = (target[0].isEmpty()) ? page.file() : page.file().resolveSibling(target[0]);
		return Files.isRegularFile(file) && (target.length == 1 || Markdown.read(file).anchors().contains(target[1]));
	}

	// A page names the test that shows what it says.
	@ParameterizedTest
	@MethodSource("pages")
	void everyTestThatAPageNamesExists(Markdown page) {
		assertThat(TEST.matcher(page.text()).results().map((test) -> test.group(1)))
			.allMatch((test) -> Sources.ALL.texts()
				.stream()
				.anyMatch((source) -> source.contains("class " + test + " ")
						|| source.contains("interface " + test + " ") || source.contains("class " + test + "\n")));
	}

	@ParameterizedTest
	@MethodSource("guides")
	void everyPageSaysAtItsTopForWhomItIs(Markdown page) {
		assertThat(page.text()).containsPattern("\\A# .*\n\nFor [^\n]*\\.\n\n");
	}

	// Decisions are records of the project.
	private static Stream<Markdown> guides() {
		return PAGES.stream()
			.filter((page) -> page.file().startsWith(ROOT.resolve("docs"))
					&& !page.file().startsWith(ROOT.resolve("docs/decisions"))
					&& !WITHOUT_READERS.contains(page.file().getFileName().toString()));
	}

	@ParameterizedTest
	@ValueSource(strings = { "README.md", "docs/getting-started.md", "docs/template.md", "docs/spring-cloud-stream.md",
			"docs/migrating.md", "docs/testing.md" })
	void everyFirstPageLinksTheChoiceOfAKey(String page) {
		assertThat(Markdown.read(ROOT.resolve(page)).links()).anyMatch((link) -> link.endsWith("choosing-a-key.md"));
	}

	@Test
	void everyPageIsInTheNavigationOfTheSite() throws IOException {
		String site = Files.readString(SITE);
		assertThat(PAGES).map((page) -> ROOT.relativize(page.file()).toString())
			.map((file) -> "\"" + file.replace("README.md", "index.md").replaceAll("md$", "html") + "\"")
			.allMatch(site::contains);
	}

	@Test
	void everyPageIsReachedFromTheReadme() {
		Set<Path> reached = new TreeSet<>();
		List<Path> next = new ArrayList<>(List.of(ROOT.resolve("README.md")));
		while (!next.isEmpty()) {
			Path file = next.remove(0);
			if (reached.add(file.normalize()) && file.toString().endsWith(".md")) {
				Markdown.read(file)
					.links()
					.stream()
					.map((link) -> link.replaceAll("#.*", ""))
					.filter((link) -> !link.isEmpty() && !link.matches("[a-z]+:.*"))
					.forEach((link) -> next.add(file.resolveSibling(link)));
			}
		}
		assertThat(PAGES).map((page) -> page.file().normalize()).allMatch(reached::contains);
	}

	@Test
	void readmeHasAtMost250Lines() throws IOException {
		assertThat(Files.readAllLines(ROOT.resolve("README.md"))).hasSizeLessThanOrEqualTo(250);
	}

	static List<Markdown> pages() {
		return PAGES;
	}

	/**
	 * The sources and resources of the modules.
	 *
	 * @param texts the contents of the files
	 * @param code the contents without white space
	 */
	record Sources(Set<String> texts, Set<String> code) {

		static final Sources ALL = read();

		private static Sources read() {
			Set<String> texts = new TreeSet<>();
			try (Stream<Path> modules = Files.list(ROOT)) {
				for (Path module : modules.map((module) -> module.resolve("src")).filter(Files::isDirectory).toList()) {
					try (Stream<Path> files = Files.walk(module)) {
						for (Path file : files.filter((file) -> file.toString().matches(".*\\.(java|kt|sql)"))
							.toList()) {
							texts.add(Files.readString(file));
						}
					}
				}
			}
			catch (IOException ex) {
				throw new IllegalStateException(ex);
			}
			return new Sources(texts, texts.stream().map(DocumentationTests::compact).collect(Collectors.toSet()));
		}

	}

	/**
	 * The metadata of all configuration properties on the class path.
	 *
	 * @param names the names of the properties
	 * @param maps the names of those that are maps
	 */
	record Metadata(Set<String> names, Set<String> maps) {

		static final Metadata ALL = read();

		private static Metadata read() {
			Set<String> names = new TreeSet<>();
			Set<String> maps = new TreeSet<>();
			try {
				for (URL file : Collections.list(
						Metadata.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
					try (var input = file.openStream()) {
						for (JsonNode property : JsonMapper.builder().build().readTree(input).path("properties")) {
							String name = property.path("name").asString();
							names.add(name);
							if (property.path("type").asString("").startsWith("java.util.Map<")) {
								maps.add(name);
							}
						}
					}
				}
			}
			catch (IOException ex) {
				throw new IllegalStateException(ex);
			}
			return new Metadata(names, maps);
		}

		boolean contains(String name) {
			String store = name.replaceFirst("^idempotency\\.stores\\.[^.]+\\.", "");
			if (!store.equals(name)) {
				return this.names.contains("idempotency." + store) || this.names.contains("idempotency.store." + store);
			}
			return this.names.contains(name) || this.maps.stream().anyMatch((map) -> name.startsWith(map + "."));
		}

	}

}
