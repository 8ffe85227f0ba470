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
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.springframework.util.Assert;

import static org.awaitility.Awaitility.await;

/**
 * A server from binaries of the machine; killed at the end of the JVM.
 */
final class PostgresProcess implements PostgresServer {

	private static final Duration READY = Duration.ofSeconds(60);

	// PostgreSQL does not run as root. In a user namespace, root has no privileges.
	private static final List<String> UNPRIVILEGED = System.getProperty("user.name").equals("root")
			? List.of("unshare", "-U") : List.of();

	private final Path directory = Directories.createInMemory("idempotency-postgres");

	private final int port = Ports.free();

	private final Path home;

	private final Map<String, String> settings = new LinkedHashMap<>();

	private Process process;

	private PostgresProcess(Path home, Map<String, String> settings) {
		this.home = home;
		this.settings.putAll(SETTINGS);
		this.settings.putAll(settings);
		Directories.deleteAtExit(this.directory, this::kill);
	}

	/**
	 * Start a server with new data.
	 * @param home the directory that contains {@code bin}
	 * @param settings the settings that differ from {@link PostgresServer#SETTINGS}
	 * @return the server
	 */
	static PostgresProcess create(Path home, Map<String, String> settings) {
		PostgresProcess server = new PostgresProcess(home, settings);
		server.execute("initdb", "-D", server.data(), "-U", server.username(), "-A", "trust", "-E", "UTF8",
				"--no-sync");
		server.start();
		return server;
	}

	/**
	 * Start a server that replicates from another one.
	 * @param home the directory that contains {@code bin}
	 * @param primary the port of the other server, or of a proxy of it
	 * @param settings the settings that differ from {@link PostgresServer#SETTINGS}
	 * @return the server
	 */
	static PostgresProcess standby(Path home, int primary, Map<String, String> settings) {
		PostgresProcess server = new PostgresProcess(home, settings);
		server.execute("pg_basebackup", "-h", "127.0.0.1", "-p", String.valueOf(primary), "-U", server.username(), "-D",
				server.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync");
		server.start();
		return server;
	}

	private String data() {
		return this.directory.resolve("data").toString();
	}

	private File log() {
		return this.directory.resolve("log").toFile();
	}

	private ProcessBuilder command(String program, String... arguments) {
		List<String> command = new ArrayList<>(UNPRIVILEGED);
		command.add(this.home.resolve("bin").resolve(program).toString());
		command.addAll(List.of(arguments));
		return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(Redirect.appendTo(log()));
	}

	private void execute(String program, String... arguments) {
		try {
			int status = command(program, arguments).start().waitFor();
			Assert.state(status == 0, () -> program + " ended with status " + status + ", see " + log());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	int port() {
		return this.port;
	}

	void set(String setting, String value) {
		this.settings.put(setting, value);
	}

	@Override
	public String url(String database) {
		return "jdbc:postgresql://localhost:" + this.port + "/" + database;
	}

	@Override
	public void start() {
		List<String> arguments = new ArrayList<>(List.of("-D", data(), "-p", String.valueOf(this.port), "-c",
				"listen_addresses=localhost", "-c", "unix_socket_directories="));
		this.settings.forEach((name, value) -> arguments.addAll(List.of("-c", name + "=" + value)));
		try {
			this.process = command("postgres", arguments.toArray(String[]::new)).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		await().atMost(READY)
			.pollInterval(Duration.ofMillis(20))
			.failFast("PostgreSQL ended, see " + log(), () -> !this.process.isAlive())
			.until(this::answers);
	}

	private boolean answers() {
		try (Connection connection = DriverManager.getConnection(url("postgres"), username(), password())) {
			return connection.isValid(1);
		}
		catch (SQLException ex) {
			return false;
		}
	}

	// A fast shutdown, as with the embedded server.
	@Override
	public void stop() {
		execute("pg_ctl", "-D", data(), "-m", "fast", "-w", "stop");
	}

	/**
	 * Kill all processes of the server with SIGKILL.
	 */
	void kill() {
		if (this.process != null) {
			List<ProcessHandle> all = Stream.concat(Stream.of(this.process.toHandle()), this.process.descendants())
				.toList();
			all.forEach(ProcessHandle::destroyForcibly);
			all.forEach((one) -> one.onExit().join());
		}
	}

	/**
	 * Make this standby the primary, and wait until it is.
	 */
	void promote() {
		execute("pg_ctl", "-D", data(), "-w", "promote");
	}

}
