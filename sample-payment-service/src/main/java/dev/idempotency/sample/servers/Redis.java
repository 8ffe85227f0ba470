/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.util.FileSystemUtils;
import redis.embedded.core.ExecutableProvider;
import redis.embedded.model.OS;

/**
 * A Redis server in a separate process with its data in a temporary directory.
 */
final class Redis implements DisposableBean {

	private static final String HOST = "127.0.0.1";

	private static final Duration READY = Duration.ofSeconds(20);

	private final Path directory;

	private final int port;

	private Redis(Path directory, int port) {
		this.directory = directory;
		this.port = port;
	}

	static Redis start() {
		try {
			Redis redis = new Redis(Files.createTempDirectory("sample-redis"), freePort());
			redis.awaitAnswer(redis.launch());
			return redis;
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Redis could not be started", ex);
		}
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	String url() {
		return "redis://" + HOST + ":" + this.port;
	}

	private Process launch() throws IOException {
		File executable = ExecutableProvider.newJarResourceProvider(this.directory.toFile()).get();
		// Ctrl-C in a terminal ends all its processes. A detached server keeps running
		// until the listeners have stopped. Windows does not support this.
		String detached = (OS.detectOS() != OS.WINDOWS) ? "yes" : "no";
		// Acknowledged writes survive a crash of the server, as they must in production.
		return new ProcessBuilder(executable.getAbsolutePath(), "--bind", HOST, "--port", String.valueOf(this.port),
				"--dir", this.directory.toString(), "--save", "", "--appendonly", "yes", "--daemonize", detached,
				"--logfile", log().toString())
			.redirectErrorStream(true)
			.redirectOutput(log().toFile())
			.start();
	}

	private Path log() {
		return this.directory.resolve("log");
	}

	private void awaitAnswer(Process launch) throws IOException {
		long end = System.nanoTime() + READY.toNanos();
		while (!answers()) {
			boolean failed = !launch.isAlive() && launch.exitValue() != 0;
			if (failed || System.nanoTime() > end) {
				throw new IOException("Redis does not respond. See its log file " + log());
			}
			try {
				Thread.sleep(20);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IOException("Interrupted while waiting for Redis", ex);
			}
		}
	}

	private boolean answers() {
		try {
			return "+PONG".equals(ask("PING"));
		}
		catch (IOException ex) {
			return false;
		}
	}

	private @Nullable String ask(String command) throws IOException {
		try (Socket socket = new Socket(HOST, this.port)) {
			socket.setSoTimeout((int) READY.toMillis());
			socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
			return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
				.readLine();
		}
	}

	@Override
	public void destroy() throws IOException {
		try {
			ask("SHUTDOWN NOSAVE");
		}
		catch (SocketException ex) {
			// The server has closed the connection or was not running any more.
		}
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
