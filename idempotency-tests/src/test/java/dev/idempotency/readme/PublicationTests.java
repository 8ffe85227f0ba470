/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathFactory;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what a release deploys. They build everything twice, which takes minutes.
 */
@EnabledIfSystemProperty(named = "test.publication", matches = ".*")
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class PublicationTests {

	@SuppressWarnings("unused")
	private static final List<String> MODULES = Publication.MODULES;

	private static Publication publication;

	@BeforeAll
	@Timeout(value = 20, unit = TimeUnit.MINUTES)
	static void publish() throws Exception {
		publication = Publication.first();
	}

	@Test
	void onlyTheModulesForApplicationsAreDeployed() throws Exception {
		try (Stream<Path> modules = Files.list(publication.artifacts())) {
			assertThat(modules.map((module) -> module.getFileName().toString()))
				.containsExactlyInAnyOrderElementsOf(Publication.MODULES);
		}
	}

	@ParameterizedTest
	@FieldSource("MODULES")
	void moduleHasTheFilesThatMavenCentralRequires(String module) throws Exception {
		List<String> suffixes = new ArrayList<>(List.of(".pom", "-cyclonedx.json", "-cyclonedx.xml"));
		if (!module.endsWith("-bom")) {
			suffixes.addAll(List.of(".jar", "-sources.jar", "-javadoc.jar"));
		}
		for (String suffix : suffixes) {
			for (String companion : List.of("", ".md5", ".sha1", ".asc")) {
				assertThat(publication.file(module, suffix + companion)).isNotEmptyFile();
			}
			Path file = publication.file(module, suffix);
			publication.run(file.getParent(), "gpgv", "--keyring", publication.key().toString(), file + ".asc",
					file.toString());
		}
	}

	@ParameterizedTest
	@FieldSource("MODULES")
	void pomStandsAloneAndHasTheMetadataThatMavenCentralRequires(String module) throws Exception {
		Document pom = pom(module);
		for (String element : List.of("name", "description", "url", "licenses/license/name", "licenses/license/url",
				"developers/developer/name", "scm/connection", "scm/developerConnection", "scm/url")) {
			assertThat(values(pom, "/project/" + element)).as(element).hasSize(1).doesNotContain("");
		}
		for (String element : List.of("parent", "build", "profiles", "properties", "reporting", "modules",
				"repositories", "distributionManagement")) {
			assertThat(values(pom, "/project/" + element)).as(element).isEmpty();
		}
		assertThat(Files.readString(publication.file(module, ".pom"))).doesNotContain("${", "idempotency-parent");
		assertThat(values(pom, "//dependency[not(version)]")).isEmpty();
		assertThat(values(pom, "//dependency[scope = 'test']")).isEmpty();
	}

	@Test
	void dependenciesOnTechnologiesAreOptional() throws Exception {
		assertThat(values(pom("idempotency-spring-boot-autoconfigure"),
				"//dependency[scope = 'compile' and not(optional = 'true')]/artifactId"))
			.containsExactly("spring-boot-autoconfigure", "spring-tx", "jspecify");
	}

	@Test
	void bomManagesAllOtherModulesAndNothingElse() throws Exception {
		List<String> others = Publication.MODULES.stream().filter((module) -> !module.endsWith("-bom")).toList();
		Document bom = pom("idempotency-bom");
		assertThat(values(bom, "/project/dependencyManagement/dependencies/dependency/artifactId"))
			.containsExactlyElementsOf(others);
		assertThat(values(bom, "//dependency/version")).containsOnly(publication.version());
		assertThat(values(bom, "/project/dependencies")).isEmpty();
	}

	@Test
	void secondBuildInAnotherFolderIsEqual() throws Exception {
		Publication second = Publication.of("second/in-another-folder");
		assertThat(second.reproducible()).isEqualTo(publication.reproducible()).hasSizeGreaterThan(50);
		for (String file : second.reproducible()) {
			assertThat(second.repository().resolve(file)).as(file)
				.hasSameBinaryContentAs(publication.repository().resolve(file));
		}
	}

	private static Document pom(String module) throws Exception {
		return DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(publication.file(module, ".pom").toFile());
	}

	private static List<String> values(Document document, String path) throws Exception {
		NodeList nodes = (NodeList) XPathFactory.newInstance()
			.newXPath()
			.evaluate(path, document, XPathConstants.NODESET);
		List<String> values = new ArrayList<>();
		for (int i = 0; i < nodes.getLength(); i++) {
			values.add(nodes.item(i).getTextContent().trim());
		}
		return values;
	}

}
