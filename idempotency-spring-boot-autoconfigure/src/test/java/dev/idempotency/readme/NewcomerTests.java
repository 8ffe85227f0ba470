package dev.idempotency.readme;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.boot.SpringBootVersion;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.util.TestSocketUtils;

import dev.idempotency.readme.Readme.Store;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a separate Maven project with only the dependency, the properties and the
 * listeners of the README. They take half a minute for each store and use the artifacts
 * that {@code mvn package} has built.
 */
@EnabledIfSystemProperty(named = "test.newcomer", matches = ".*")
@ResourceLock(Readme.TOPIC)
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
				<dependencyManagement>
					<dependencies>
						<dependency>
							<groupId>org.springframework.boot</groupId>
							<artifactId>spring-boot-dependencies</artifactId>
							<version>%1$s</version>
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

	private static final String VERSION = "0.1.0-SNAPSHOT";

	// Not in a temporary directory, where JUnit would log a warning for each link.
	private static final Path REPOSITORY = Path.of("target/newcomer-repository").toAbsolutePath();

	@TempDir
	private Path project;

	@BeforeAll
	static void install() throws IOException {
		Path known = Path.of(System.getProperty("user.home"), ".m2", "repository");
		// A directory for the artifacts of the library, and links for all others.
		link(known, REPOSITORY, "dev");
		link(known.resolve("dev"), REPOSITORY.resolve("dev"), "idempotency");
		install("idempotency-parent", Path.of(".."));
		for (String module : List.of("idempotency-spring-boot-autoconfigure", "idempotency-spring-boot-starter",
				"idempotency-spring-boot-starter-redis")) {
			Path jar = install(module, Path.of("..", module)).resolve(module + "-" + VERSION + ".jar");
			Files.copy(Path.of("..", module, "target").resolve(jar.getFileName()), jar,
					StandardCopyOption.REPLACE_EXISTING);
		}
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

	private static Path install(String artifact, Path module) throws IOException {
		Path folder = Files.createDirectories(REPOSITORY.resolve("dev/idempotency").resolve(artifact).resolve(VERSION));
		Files.copy(module.resolve(".flattened-pom.xml"), folder.resolve(artifact + "-" + VERSION + ".pom"),
				StandardCopyOption.REPLACE_EXISTING);
		return folder;
	}

	@Test
	void projectWithADatabaseProcessesARecordOnce() throws Exception {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		Payment payment = Payment.create();
		payment.createAccount(jdbc);
		build(Store.JDBC, Map.of("spring.datasource.url", database, "spring.datasource.username",
				Servers.postgres().username(), "spring.datasource.password", Servers.postgres().password()));
		runWhile(() -> {
			payment.sendTwice();
			payment.awaitConsumption("ledger");
		});
		assertThat(payment.charged(jdbc)).isEqualTo(Payment.AMOUNT);
	}

	@Test
	void projectWithOnlyRedisProcessesARecordOnce() throws Exception {
		Payment payment = Payment.create();
		build(Store.REDIS, Map.of("spring.data.redis.url", Payment.redis()));
		runWhile(() -> {
			payment.sendTwice();
			payment.awaitConsumption("gateway");
		});
		assertThat(payment.calls(gatewayFile())).isEqualTo(1);
	}

	@Test
	void gettingStartedChargesAPaymentThatIsSentTwiceOnce() throws Exception {
		for (Map.Entry<String, String> file : GettingStarted.files().entrySet()) {
			Path path = this.project.resolve(file.getKey());
			Files.createDirectories(path.getParent());
			Files.writeString(path, file.getValue());
		}
		int port = TestSocketUtils.findAvailableTcpPort();
		ProcessBuilder service = command("mvn", "-B", "-Dmaven.repo.local=" + REPOSITORY, "spring-boot:test-run");
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

	private String output(String line) throws Exception {
		Process process = new ProcessBuilder("bash", "-c", line).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
		process.waitFor();
		return output;
	}

	private Path gatewayFile() {
		return this.project.resolve("gateway");
	}

	private void build(Store store, Map<String, String> addresses) throws Exception {
		String dependencies = Readme.dependency(store) + ((store == Store.JDBC) ? DRIVER : "");
		Files.writeString(this.project.resolve("pom.xml"), POM.formatted(SpringBootVersion.getVersion(), dependencies));
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
		Process maven = start("mvn", "-B", "-q", "-o", "-Dmaven.repo.local=" + REPOSITORY, "package");
		assertThat(maven.waitFor()).as(log()).isZero();
	}

	private void runWhile(Runnable work) throws Exception {
		Process application = start(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-jar",
				"target/newcomer.jar");
		try {
			work.run();
		}
		finally {
			application.destroy();
			application.waitFor();
			log().lines().filter((line) -> line.matches(".*(Idempotent|Started).*")).forEach(System.out::println);
		}
	}

	private Process start(String... command) throws IOException {
		return command(command).start();
	}

	private ProcessBuilder command(String... command) {
		return new ProcessBuilder(command).directory(this.project.toFile())
			.redirectErrorStream(true)
			.redirectOutput(Redirect.appendTo(this.project.resolve("log").toFile()));
	}

	private String log() throws IOException {
		return Files.readString(this.project.resolve("log"));
	}

}
