/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * DynamoDB Local in a JVM of its own, because it needs other versions of some libraries.
 * The build of the library writes its class path.
 */
final class DynamoDbProcess implements AutoCloseable {

	private static final Path CLASS_PATH = Path.of("idempotency-tests/target/test-classes/dynamodb-local.classpath");

	private final ServerProcess process;

	private final int port;

	private DynamoDbProcess(ServerProcess process, int port) {
		this.process = process;
		this.port = port;
	}

	static DynamoDbProcess start() {
		try {
			int port = Servers.freePort();
			Path directory = Files.createTempDirectory("idempotency-dynamodb");
			String classPath = Files.readString(CLASS_PATH);
			List<String> command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
					"-Xmx512m", "-Dsqlite4java.library.path=" + library(classPath), "-cp", classPath,
					"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-port", String.valueOf(port),
					"-inMemory", "-disableTelemetry");
			return new DynamoDbProcess(ServerProcess.start(directory, command, () -> listens(port)), port);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static String library(String classPath) {
		return Arrays.stream(classPath.split(File.pathSeparator))
			.map(Path::of)
			.filter((entry) -> entry.getFileName().toString().startsWith("libsqlite4java-linux-amd64"))
			.map((entry) -> String.valueOf(entry.getParent()))
			.findFirst()
			.orElseThrow();
	}

	private static boolean listens(int port) {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
			return socket.isConnected();
		}
		catch (IOException ex) {
			return false;
		}
	}

	URI endpoint() {
		return URI.create("http://127.0.0.1:" + this.port);
	}

	String describe() {
		return "in memory; not the service";
	}

	@Override
	public void close() throws IOException {
		this.process.close();
	}

}
