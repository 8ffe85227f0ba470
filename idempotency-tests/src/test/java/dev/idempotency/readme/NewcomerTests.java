/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.postgresql.util.DriverInfo;
import org.springframework.boot.SpringBootVersion;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.util.TestSocketUtils;
import org.springframework.util.FileSystemUtils;

import dev.idempotency.readme.Readme.Store;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Tests for separate projects with only the dependency, the properties and the listeners
 * of the README. They use the artifacts that a release deploys, which takes minutes to
 * build, and then half a minute for each project.
 */
@EnabledIfSystemProperty(named = "test.newcomer", matches = ".*")
@ResourceLock(Readme.TOPIC)
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class NewcomerTests {

	private static final String POM = """
			<project xmlns="http://maven.apache.org/POM/4.0.0">
				<modelVersion>4.0.0</modelVersion>
				<groupId>com.example</groupId>
				<artifactId>newcomer</artifactId>
				<version>1</version>
				<properties>
					<maven.compiler.release>17</maven.compiler.release>
					<maven.compiler.parameters>true</maven.compiler.parameters>
					<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
				</properties>
				<repositories>
					<repository>
						<id>published</id>
						<url>%3$s</url>
					</repository>
				</repositories>
				<dependencyManagement>
					<dependencies>
						<dependency>
							<groupId>org.springframework.boot</groupId>
							<artifactId>spring-boot-dependencies</artifactId>
							<version>%1$s</version>
							<type>pom</type>
							<scope>import</scope>
						</dependency>
						<dependency>
							<groupId>dev.idempotency</groupId>
							<artifactId>idempotency-bom</artifactId>
							<version>%4$s</version>
							<type>pom</type>
							<scope>import</scope>
						</dependency>
					</dependencies>
				</dependencyManagement>
				<dependencies>
			%2$s
				</dependencies>
				<build>
					<finalName>newcomer</finalName>
					<plugins>
						<plugin>
							<artifactId>maven-compiler-plugin</artifactId>
							<version>3.16.0</version>
						</plugin>
						<plugin>
							<artifactId>maven-resources-plugin</artifactId>
							<version>3.3.1</version>
						</plugin>
						<plugin>
							<artifactId>maven-jar-plugin</artifactId>
							<version>3.4.2</version>
						</plugin>
						<plugin>
							<artifactId>maven-surefire-plugin</artifactId>
							<version>3.6.1</version>
						</plugin>
						<plugin>
							<groupId>org.springframework.boot</groupId>
							<artifactId>spring-boot-maven-plugin</artifactId>
							<version>%1$s</version>
							<executions>
								<execution>
									<goals>
										<goal>repackage</goal>
									</goals>
								</execution>
							</executions>
						</plugin>
					</plugins>
				</build>
			</project>
			""";

	private static final String DRIVER = """
			<dependency>
				<groupId>org.postgresql</groupId>
				<artifactId>postgresql</artifactId>
				<scope>runtime</scope>
			</dependency>
			""";

	private static final String TEST_TOOLS = """
			<dependency>
				<groupId>com.h2database</groupId>
				<artifactId>h2</artifactId>
				<scope>runtime</scope>
			</dependency>
			<dependency>
				<groupId>org.springframework.boot</groupId>
				<artifactId>spring-boot-starter-kafka-test</artifactId>
				<scope>test</scope>
				<exclusions>
					<exclusion>
						<groupId>org.apache.kafka</groupId>
						<artifactId>kafka-streams-test-utils</artifactId>
					</exclusion>
				</exclusions>
			</dependency>
			<dependency>
				<groupId>dev.idempotency</groupId>
				<artifactId>idempotency-spring-boot-test</artifactId>
				<scope>test</scope>
			</dependency>
			<dependency>
				<groupId>net.jqwik</groupId>
				<artifactId>jqwik</artifactId>
				<version>1.9.3</version>
				<scope>test</scope>
			</dependency>
			""";

	private static final String LISTENER_TESTS = """
			package com.example;

			import java.time.Duration;

			import org.junit.jupiter.api.Test;
			import org.springframework.beans.factory.annotation.Autowired;
			import org.springframework.boot.test.context.SpringBootTest;
			import org.springframework.jdbc.core.JdbcTemplate;
			import org.springframework.kafka.core.KafkaTemplate;
			import org.springframework.kafka.test.context.EmbeddedKafka;

			import static org.assertj.core.api.Assertions.assertThat;
			import static org.awaitility.Awaitility.await;

			@SpringBootTest
			@EmbeddedKafka(topics = "payments", partitions = 1, bootstrapServersProperty = "spring.kafka.bootstrap-servers")
			class PaymentListenersTests {

				private static final String JSON = "{'paymentId':'%1$s','account':'%1$s','amount':7}".replace('\\'', '"');

				@Autowired
				private KafkaTemplate<Object, Object> kafka;

				@Autowired
				private JdbcTemplate jdbc;

				@Test
				void paymentIsChargedOnce() {
					this.jdbc.execute("CREATE TABLE account (id varchar(10) PRIMARY KEY, balance int)");
					this.jdbc.update("INSERT INTO account VALUES ('a', 100), ('b', 100)");
					for (String payment : new String[] { "a", "a", "b" }) {
						this.kafka.send("payments", payment, JSON.formatted(payment));
					}
					await().atMost(Duration.ofMinutes(1)).until(() -> balance("b") == 93);
					assertThat(balance("a")).isEqualTo(93);
				}

				private int balance(String account) {
					return this.jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Integer.class, account);
				}

			}
			""";

	private static final String STORE_TESTS = """
			package com.example;

			import java.time.Duration;

			import dev.idempotency.contract.IdempotencyStoreContract;
			import dev.idempotency.memory.InMemoryIdempotencyStore;

			class StoreTests extends IdempotencyStoreContract {

				private static final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

				@Override
				public InMemoryIdempotencyStore store() {
					return store;
				}

				@Override
				public Duration lease() {
					return Duration.ofMillis(200);
				}

				@Override
				public Duration retention() {
					return Duration.ofMillis(400);
				}

			}
			""";

	private static final String GRADLE = """
			apply plugin: 'java'

			repositories {
				maven { url '%1$s' }
				maven { url '%2$s' }
			}

			dependencies {
				compile 'dev.idempotency:idempotency-spring-boot-starter:%3$s'
				runtime 'org.postgresql:postgresql:%4$s'
			}

			// Gradle 4 knows no newer version than 12.
			compileJava.options.compilerArgs.addAll(['-source', '17', '-target', '17', '-parameters'])

			task writeClasspath {
				doLast {
					file('classpath').text = sourceSets.main.runtimeClasspath.asPath
				}
			}
			""";

	// Not in a temporary directory, where JUnit would log a warning for each link.
	private static final Path REPOSITORY = Path.of("target/newcomer-repository").toAbsolutePath();

	@TempDir
	private Path project;

	private static Publication publication;

	@BeforeAll
	@Timeout(value = 20, unit = TimeUnit.MINUTES)
	static void publish() throws Exception {
		publication = Publication.given();
		Path known = Path.of(System.getProperty("user.home"), ".m2", "repository");
		// A directory for the artifacts of the library, and links for all others.
		FileSystemUtils.deleteRecursively(REPOSITORY.resolve("dev/idempotency"));
		link(known, REPOSITORY, "dev");
		link(known.resolve("dev"), REPOSITORY.resolve("dev"), "idempotency");
	}

	private static void link(Path from, Path to, String except) throws IOException {
		Files.createDirectories(to);
		if (!Files.isDirectory(from)) {
			return;
		}
		try (Stream<Path> children = Files.list(from)) {
			for (Path child : children.filter((each) -> !each.endsWith(except)).toList()) {
				Path link = to.resolve(child.getFileName());
				if (!Files.exists(link)) {
					Files.createSymbolicLink(link, child);
				}
			}
		}
	}

	@Test
	void projectWithADatabaseProcessesARecordOnce() throws Exception {
		String database = Servers.newDatabase();
		write(Store.JDBC, addresses(database));
		packageWithMaven(dependency(Store.JDBC) + DRIVER);
		recordIsProcessedOnce(database, "-jar", "target/newcomer.jar");
	}

	@Test
	void projectWithOnlyRedisProcessesARecordOnce() throws Exception {
		write(Store.REDIS, Map.of("spring.data.redis.url", Payment.redis()));
		packageWithMaven(dependency(Store.REDIS));
		Payment payment = Payment.create();
		runWhile(() -> {
			payment.sendTwice();
			payment.awaitConsumption("gateway");
		}, "-jar", "target/newcomer.jar");
		assertThat(payment.calls(gatewayFile())).isEqualTo(1);
	}

	@Test
	void projectTestsItsListenerAndItsStore() throws Exception {
		write(Store.JDBC, Map.of("spring.datasource.url", "jdbc:h2:mem:newcomer;DB_CLOSE_DELAY=-1",
				"spring.datasource.username", "sa", "logging.level.root", "warn"));
		Path tests = Files.createDirectories(this.project.resolve("src/test/java/com/example"));
		Files.writeString(tests.resolve("PaymentListenersTests.java"), LISTENER_TESTS);
		Files.writeString(tests.resolve("StoreTests.java"), STORE_TESTS);
		packageWithMaven(dependency(Store.JDBC) + TEST_TOOLS);
		assertThat(Files.readString(this.project.resolve("target/surefire-reports/com.example.StoreTests.txt")))
			.contains("Failures: 0, Errors: 0, Skipped: 0");
		assertThat(
				Files.readString(this.project.resolve("target/surefire-reports/com.example.PaymentListenersTests.txt")))
			.contains("Tests run: 1, Failures: 0, Errors: 0, Skipped: 0");
	}

	@Test
	void gradleProjectWithADatabaseProcessesARecordOnce() throws Exception {
		assumeTrue(isInstalled("gradle"), "Gradle is not installed");
		String database = Servers.newDatabase();
		write(Store.JDBC, addresses(database));
		Files.writeString(this.project.resolve("settings.gradle"), "rootProject.name = 'newcomer'\n");
		// Maven's repository stands for Maven Central, to which Gradle needs no access.
		Files.writeString(this.project.resolve("build.gradle"),
				GRADLE.formatted(publication.repository().toUri(),
						Path.of(System.getProperty("user.home"), ".m2", "repository").toUri(), publication.version(),
						DriverInfo.DRIVER_VERSION));
		run("gradle", "--no-daemon", "--offline", "-q", "classes", "writeClasspath");
		recordIsProcessedOnce(database, "-cp", Files.readString(this.project.resolve("classpath")),
				"com.example.Application");
	}

	@Test
	void gettingStartedChargesAPaymentThatIsSentTwiceOnce() throws Exception {
		for (Map.Entry<String, String> file : GettingStarted.files().entrySet()) {
			Path path = this.project.resolve(file.getKey());
			Files.createDirectories(path.getParent());
			// The published version stands for the one that a reader installs.
			Files.writeString(path, file.getValue().replace("0.1.0-SNAPSHOT", publication.version()));
		}
		installPublication();
		int port = TestSocketUtils.findAvailableTcpPort();
		ProcessBuilder service = command(
				List.of("mvn", "-B", "-Dmaven.repo.local=" + REPOSITORY, "spring-boot:test-run"));
		service.environment().put("SERVER_PORT", String.valueOf(port));
		Process maven = service.start();
		try {
			await().atMost(Duration.ofMinutes(3)).until(() -> !maven.isAlive() || log().contains("Started"));
			for (GettingStarted.Command command : GettingStarted.commands()) {
				String line = command.line().replace("localhost:8080", "localhost:" + port);
				await().untilAsserted(() -> assertThat(output(line)).isEqualTo(command.output()));
			}
			assertThat(log()).contains(GettingStarted.log());
		}
		finally {
			maven.descendants().forEach(ProcessHandle::destroy);
			maven.destroy();
			maven.waitFor();
			System.out.println(log());
		}
	}

	// Maven does not use a file that it has found in another repository before.
	private static void installPublication() throws IOException {
		FileSystemUtils.deleteRecursively(REPOSITORY.resolve("dev/idempotency"));
		FileSystemUtils.copyRecursively(publication.artifacts(), REPOSITORY.resolve("dev/idempotency"));
	}

	private String output(String line) throws Exception {
		Process process = new ProcessBuilder("bash", "-c", line).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
		process.waitFor();
		return output;
	}

	private static boolean isInstalled(String program) {
		return Stream.of(System.getenv("PATH").split(File.pathSeparator))
			.anyMatch((folder) -> Files.isExecutable(Path.of(folder, program)));
	}

	private static Map<String, String> addresses(String database) {
		return Map.of("spring.datasource.url", database, "spring.datasource.username", Servers.postgres().username(),
				"spring.datasource.password", Servers.postgres().password());
	}

	// The BOM has the version.
	private static String dependency(Store store) {
		return Readme.dependency(store).replaceAll("\\s*<version>.*</version>", "");
	}

	private Path gatewayFile() {
		return this.project.resolve("gateway");
	}

	private void write(Store store, Map<String, String> addresses) throws Exception {
		Path sources = Files.createDirectories(this.project.resolve("src/main/java/com/example"));
		for (Map.Entry<String, String> source : Readme.sources(store).entrySet()) {
			Files.writeString(sources.resolve(source.getKey() + ".java"), source.getValue());
		}
		List<String> properties = new ArrayList<>();
		Readme.properties(store, addresses).forEach((name, value) -> properties.add(name + "=" + value));
		properties.add("spring.kafka.bootstrap-servers=" + Servers.kafka().getBrokersAsString());
		properties.add("gateway.file=" + gatewayFile());
		Files.write(
				Files.createDirectories(this.project.resolve("src/main/resources")).resolve("application.properties"),
				properties);
	}

	private void packageWithMaven(String dependencies) throws Exception {
		Files.writeString(this.project.resolve("pom.xml"), POM.formatted(SpringBootVersion.getVersion(), dependencies,
				publication.repository().toUri(), publication.version()));
		run("mvn", "-B", "-q", "-Dmaven.repo.local=" + REPOSITORY, "package");
	}

	private void run(String... command) throws Exception {
		Publication.run(this.project, this.project.resolve("log"), command);
	}

	private void recordIsProcessedOnce(String database, String... application) throws Exception {
		JdbcTemplate jdbc = Servers.jdbc(database);
		Payment payment = Payment.create();
		payment.createAccount(jdbc);
		runWhile(() -> {
			payment.sendTwice();
			payment.awaitConsumption("ledger");
		}, application);
		assertThat(payment.charged(jdbc)).isEqualTo(Payment.AMOUNT);
	}

	private void runWhile(Runnable work, String... arguments) throws Exception {
		List<String> command = new ArrayList<>(
				List.of(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1"));
		command.addAll(List.of(arguments));
		Process application = command(command).start();
		try {
			work.run();
		}
		finally {
			application.destroy();
			application.waitFor();
			log().lines().filter((line) -> line.matches(".*(Idempotent|Started).*")).forEach(System.out::println);
		}
	}

	private ProcessBuilder command(List<String> command) {
		return new ProcessBuilder(command).directory(this.project.toFile())
			.redirectErrorStream(true)
			.redirectOutput(Redirect.appendTo(this.project.resolve("log").toFile()));
	}

	private String log() throws IOException {
		return Files.readString(this.project.resolve("log"));
	}

}
