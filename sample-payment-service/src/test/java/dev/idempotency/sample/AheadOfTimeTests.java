/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplicationAotProcessor;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the service with ahead-of-time processing, on the JVM. The profile
 * {@code redis} has a default store and a named one. They start two JVMs and a compiler:
 * the build does without, because the library tests its hints.
 */
@EnabledIfSystemProperty(named = "test.aot", matches = ".*")
class AheadOfTimeTests {

	private static final Duration TIMEOUT = Duration.ofMinutes(2);

	private static final String PROFILE = "-Dspring.profiles.active=redis";

	@TempDir
	private Path directory;

	@Test
	void serviceWithAheadOfTimeProcessingChargesOnce() throws Exception {
		process();
		compile();
		int port = freePort();
		Process service = java("service.log", List.of("-Dspring.aot.enabled=true", PROFILE), "classes", "resources",
				"target")
			.run(SamplePaymentApplication.class, "--server.port=" + port);
		try {
			await().atMost(TIMEOUT).untilAsserted(() -> {
				assertThat(service.isAlive()).as(() -> log("service.log")).isTrue();
				assertThat(log("service.log")).contains("Started SamplePaymentApplication");
			});
			assertThat(log("service.log")).contains("Starting AOT-processed SamplePaymentApplication");
			PaymentService payments = new PaymentService(port);
			assertThat(payments.stores().findValuesAsString("name")).containsExactly("jdbc", "gateway");
			payments.order(50, 0.5);
			JsonNode after = payments.awaitConsumption();
			assertThat(payments.increase(after, "/protected/charges")).isEqualTo(50);
			assertThat(payments.increase(after, "/protected/suppressed")).isEqualTo(25);
			assertThat(payments.increase(after, "/gateway/calls")).isEqualTo(50);
			assertThat(payments.increase(after, "/gateway/suppressed")).isEqualTo(25);
			assertThat(payments.increase(after, "/statements/applied")).isEqualTo(50);
		}
		finally {
			stop(service);
		}
	}

	// The addresses are set, so that no embedded server is started.
	private void process() throws IOException, InterruptedException {
		Process processor = java("processor.log",
				List.of(PROFILE, "-Dspring.datasource.url=jdbc:postgresql://localhost/none",
						"-Dspring.kafka.bootstrap-servers=localhost:1", "-Dspring.data.redis.url=redis://localhost:1"))
			.run(SpringApplicationAotProcessor.class, SamplePaymentApplication.class.getName(), path("sources"),
					path("resources"), path("target"), "dev.idempotency", "sample-payment-service");
		assertThat(processor.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
		assertThat(processor.exitValue()).as(() -> log("processor.log")).isZero();
	}

	private void compile() throws IOException {
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		Files.createDirectories(this.directory.resolve("classes"));
		try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
				Stream<Path> sources = Files.walk(this.directory.resolve("sources"))) {
			List<String> options = List.of("-nowarn", "-proc:none", "-d", path("classes"), "-cp",
					path("target") + File.pathSeparator + System.getProperty("java.class.path"));
			assertThat(compiler
				.getTask(null, files, null, options, null, files
					.getJavaFileObjectsFromPaths(sources.filter((path) -> path.toString().endsWith(".java")).toList()))
				.call()).isTrue();
		}
	}

	private Launcher java(String log, List<String> options, String... classPath) {
		List<String> paths = new ArrayList<>();
		Stream.of(classPath).map(this::path).forEach(paths::add);
		paths.add(System.getProperty("java.class.path"));
		return (main, arguments) -> {
			List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-cp",
					String.join(File.pathSeparator, paths), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
			command.addAll(options);
			command.add(main.getName());
			command.addAll(List.of(arguments));
			return new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(this.directory.resolve(log).toFile())
				.start();
		};
	}

	private static void stop(Process process) throws InterruptedException {
		process.destroy();
		if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
			process.destroyForcibly();
		}
	}

	private String path(String name) {
		return this.directory.resolve(name).toString();
	}

	private String log(String name) {
		try {
			return Files.readString(this.directory.resolve(name), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			return ex.toString();
		}
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	/**
	 * Starts a JVM.
	 */
	private interface Launcher {

		Process run(Class<?> main, String... arguments) throws IOException;

	}

}
