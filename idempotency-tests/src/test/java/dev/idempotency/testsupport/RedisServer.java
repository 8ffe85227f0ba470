/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import org.testcontainers.DockerClientFactory;

/**
 * A Redis server that can be killed and started again at the same address with what it
 * had written, and be frozen.
 */
public interface RedisServer {

	String IMAGE = "redis:7-alpine";

	/**
	 * Start a server: in a container where Docker answers, from the binaries on Maven
	 * Central elsewhere. The system property {@code test.servers}, {@code docker} or
	 * {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static RedisServer create() {
		String servers = System.getProperty("test.servers", "auto");
		boolean docker = servers.equals("docker")
				|| (servers.equals("auto") && DockerClientFactory.instance().isDockerAvailable());
		return docker ? new ContainerRedisServer() : RedisProcess.durable();
	}

	String host();

	int port();

	/**
	 * Kill the server.
	 */
	void stop();

	void start();

	/**
	 * Freeze the server with its connections open.
	 */
	void freeze();

	void resume();

}
