/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

import org.springframework.core.io.ClassPathResource;

import dev.idempotency.test.kill.Signals;

import static org.awaitility.Awaitility.await;

/**
 * A server from the classes on Maven Central in a JVM of its own, because it needs other
 * versions of some libraries; killed at the end of this JVM. The build writes its class
 * path.
 */
final class DynamoDbProcess implements DynamoDbServer {

	private static final Duration READY = Duration.ofSeconds(60);

	private final int port = Ports.free();

	private final Path directory = Directories.createInMemory("idempotency-dynamodb");

	private Process process;

	DynamoDbProcess() {
		start();
		Directories.deleteAtExit(this.directory, this::stop);
	}

	@Override
	public URI endpoint() {
		return URI.create("http://127.0.0.1:" + this.port);
	}

	@Override
	public void stop() {
		// The identifier of a process that has ended
		// may belong to another process by now.
		if (this.process.isAlive()) {
			this.process.destroyForcibly().onExit().join();
		}
	}

	@Override
	public void start() {
		String classPath = classPath();
		List<String> command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
				"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
				"-Dsqlite4java.library.path=" + library(classPath), "-cp", classPath,
				"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-port", String.valueOf(this.port),
				"-dbPath", this.directory.toString(), "-sharedDb", "-disableTelemetry");
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(Redirect.appendTo(this.directory.resolve("log").toFile()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		await().atMost(READY)
			.pollInterval(Duration.ofMillis(50))
			.failFast("DynamoDB Local ended, see " + this.directory + "/log", () -> !this.process.isAlive())
			.until(this::listens);
	}

	private static String classPath() {
		try {
			return new ClassPathResource("dynamodb-local.classpath").getContentAsString(StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Run 'mvn process-test-resources', which writes the class path", ex);
		}
	}

	private static String library(String classPath) {
		String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
		String name = system.contains("mac") ? "libsqlite4java-osx"
				: system.contains("windows") ? "sqlite4java-win32-x64" : "libsqlite4java-linux-amd64";
		return Arrays.stream(classPath.split(File.pathSeparator))
			.map(Path::of)
			.filter((entry) -> entry.getFileName().toString().startsWith(name))
			.map((entry) -> entry.getParent().toString())
			.findFirst()
			.orElseThrow();
	}

	private boolean listens() {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port), 1000);
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	@Override
	public void freeze() {
		Signals.freeze(this.process.pid());
	}

	@Override
	public void resume() {
		Signals.resume(this.process.pid());
	}

}
