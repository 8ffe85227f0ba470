/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.List;

import org.testcontainers.DockerClientFactory;

/**
 * A MariaDB server that can be stopped and started again at the same address, whose user
 * {@code root} has no password.
 */
public interface MariaDbServer {

	/**
	 * The system property that names a directory with binaries of the machine.
	 */
	String HOME_PROPERTY = "test.mariadb.home";

	String IMAGE = "mariadb:11.4";

	/**
	 * The settings of the server. The data must survive a kill of the server, but not a
	 * crash of the machine. A key for TLS would take seconds to compute.
	 */
	List<String> SETTINGS = List.of("--skip-log-bin", "--max-connections=400", "--innodb-flush-log-at-trx-commit=2",
			"--innodb-doublewrite=OFF", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=32M",
			"--innodb-fast-shutdown=2", "--skip-ssl");

	/**
	 * Start a server: in a container where Docker answers, from the binaries on Maven
	 * Central elsewhere. The system property {@code test.servers}, {@code docker} or
	 * {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static MariaDbServer create() {
		String servers = System.getProperty("test.servers", "auto");
		boolean docker = servers.equals("docker")
				|| (servers.equals("auto") && DockerClientFactory.instance().isDockerAvailable());
		return docker ? new ContainerMariaDbServer() : new EmbeddedMariaDbServer();
	}

	/**
	 * Return the address of a database for the driver of MariaDB.
	 * @param database its name
	 * @return the URL, which contains the user
	 */
	String url(String database);

	void stop();

	void start();

}
