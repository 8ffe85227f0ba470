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
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

import org.springframework.util.function.SingletonSupplier;
import redis.embedded.core.ExecutableProvider;

import dev.idempotency.test.kill.Signals;

import static org.awaitility.Awaitility.await;

/**
 * A server from the binaries on Maven Central or of the machine, in a directory of its
 * own; killed at the end of the JVM.
 */
public final class RedisProcess implements RedisServer {

	/**
	 * The system property that names an executable, instead of that on Maven Central.
	 */
	public static final String EXECUTABLE_PROPERTY = "test.redis.executable";

	private static final Supplier<File> EXECUTABLE = SingletonSupplier.of(RedisProcess::executable);

	private static final Duration READY = Duration.ofSeconds(20);

	private final int port;

	private final Path directory;

	private final List<String> command = new ArrayList<>();

	private Process process;

	private RedisProcess(int port, List<String> arguments) {
		this.port = port;
		this.directory = Directories.create("idempotency-redis");
		this.command.add(EXECUTABLE.get().getAbsolutePath());
		this.command.addAll(arguments);
		this.command.addAll(List.of("--port", String.valueOf(port), "--dir", this.directory.toString()));
		start();
		Directories.deleteAtExit(this.directory, this::stop);
	}

	/**
	 * Start a server without persistence.
	 * @param arguments the arguments of the server
	 * @return the server
	 */
	public static RedisProcess create(String... arguments) {
		return create(Ports.free(), arguments);
	}

	static RedisProcess create(int port, String... arguments) {
		List<String> all = new ArrayList<>(List.of("--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync", "yes",
				"--repl-diskless-sync-delay", "0"));
		all.addAll(List.of(arguments));
		return new RedisProcess(port, all);
	}

	/**
	 * Start a server that has persisted a change before it answers.
	 * @return the server
	 */
	public static RedisProcess durable() {
		return create("--appendonly", "yes", "--appendfsync", "always");
	}

	/**
	 * Start a server that writes each change to the operating system before it answers,
	 * and to the disk every second.
	 * @return the server
	 */
	public static RedisProcess everySecond() {
		return create("--appendonly", "yes", "--appendfsync", "everysec");
	}

	static RedisProcess sentinel(String configuration) {
		try {
			Path directory = Directories.create("idempotency-redis");
			Path file = Files.writeString(directory.resolve("sentinel.conf"), configuration);
			RedisProcess sentinel = new RedisProcess(Ports.free(),
					List.of(file.toString(), "--sentinel", "--bind", "127.0.0.1"));
			Directories.deleteAtExit(directory, sentinel::stop);
			return sentinel;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static File executable() {
		String path = System.getProperty(EXECUTABLE_PROPERTY);
		return (path != null) ? new File(path) : unpack();
	}

	private static File unpack() {
		Path directory = Directories.create("idempotency-redis");
		Directories.deleteAtExit(directory, () -> {
		});
		try {
			return ExecutableProvider.newJarResourceProvider(directory.toFile()).get();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public String host() {
		return "127.0.0.1";
	}

	@Override
	public int port() {
		return this.port;
	}

	/**
	 * Return the file to which the changes are appended. Before version 7 it is one file.
	 * @return the file
	 */
	public Path appendOnlyFile() {
		return this.directory.resolve("appendonly.aof");
	}

	/**
	 * Return the process identifier.
	 * @return the identifier
	 */
	public long pid() {
		return this.process.pid();
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
		try {
			this.process = new ProcessBuilder(this.command).redirectErrorStream(true)
				.redirectOutput(Redirect.appendTo(this.directory.resolve("log").toFile()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		await().atMost(READY)
			.pollInterval(Duration.ofMillis(20))
			.failFast("Redis ended, see " + this.directory + "/log", () -> !this.process.isAlive())
			.until(this::answers);
	}

	@Override
	public void freeze() {
		Signals.freeze(pid());
	}

	@Override
	public void resume() {
		Signals.resume(pid());
	}

	private boolean answers() {
		try {
			return ask("PING").startsWith("+PONG");
		}
		catch (UncheckedIOException ex) {
			return false;
		}
	}

	/**
	 * Send a command to this server in any role.
	 * @param command a command without arguments that need quotes
	 * @return the answer as it was sent
	 */
	public String ask(String command) {
		return ask(this, command);
	}

	/**
	 * Send a command to a server.
	 * @param server the server
	 * @param command a command without arguments that need quotes
	 * @return the answer as it was sent
	 */
	public static String ask(RedisServer server, String command) {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(server.host(), server.port()), 1000);
			socket.setSoTimeout(1000);
			socket.getOutputStream().write((command + "\r\nQUIT\r\n").getBytes(StandardCharsets.US_ASCII));
			return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
