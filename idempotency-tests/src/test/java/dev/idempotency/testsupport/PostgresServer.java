/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.file.Path;
import java.util.Map;

import org.testcontainers.DockerClientFactory;

/**
 * A PostgreSQL server that can be stopped and started again at the same address.
 */
public interface PostgresServer {

	/**
	 * The system property that names a directory with binaries of the machine.
	 */
	String HOME_PROPERTY = "test.postgres.home";

	String IMAGE = "postgres:17-alpine";

	/**
	 * The settings of the server. The data need not survive a crash of the machine, and
	 * vacuuming hundreds of small databases would take more time than the tests.
	 */
	Map<String, String> SETTINGS = Map.of("max_connections", "400", "wal_level", "logical", "fsync", "off",
			"synchronous_commit", "off", "full_page_writes", "off", "wal_init_zero", "off", "autovacuum_naptime",
			// A run of hours needs it, and it would disturb the others.
			System.getProperty("test.autovacuum-naptime", "1h"), "shared_buffers", "256MB");

	/**
	 * Start a server: in a container where Docker answers, from the binaries on Maven
	 * Central elsewhere. The system property {@code test.servers}, {@code docker} or
	 * {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static PostgresServer create() {
		String home = System.getProperty(HOME_PROPERTY);
		if (home != null) {
			return PostgresProcess.create(Path.of(home), Map.of());
		}
		String servers = System.getProperty("test.servers", "auto");
		boolean docker = servers.equals("docker")
				|| (servers.equals("auto") && DockerClientFactory.instance().isDockerAvailable());
		return docker ? new ContainerPostgresServer() : new EmbeddedPostgresServer();
	}

	String url(String database);

	default String username() {
		return "postgres";
	}

	default String password() {
		return "postgres";
	}

	void stop();

	void start();

}
