/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.github.dockerjava.api.command.WaitContainerResultCallback;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.postgresql.PostgreSQLContainer;

/**
 * A server in a container, on a port of its own choice so that it keeps its address when
 * it is started again.
 */
final class ContainerPostgresServer implements PostgresServer {

	private final PostgreSQLContainer container;

	ContainerPostgresServer() {
		int port = Ports.free();
		this.container = new PostgreSQLContainer(IMAGE).withUsername(username())
			.withPassword(password())
			.withDatabaseName("postgres")
			.withCommand(command());
		this.container.setPortBindings(List.of(port + ":5432"));
		this.container.waitingFor(Wait.forListeningPort());
		this.container.start();
	}

	private static String[] command() {
		return Stream
			.concat(Stream.of("postgres"),
					SETTINGS.entrySet()
						.stream()
						.flatMap((setting) -> Stream.of("-c", setting.getKey() + "=" + setting.getValue())))
			.toArray(String[]::new);
	}

	@Override
	public String url(String database) {
		return "jdbc:postgresql://" + this.container.getHost() + ":" + this.container.getMappedPort(5432) + "/"
				+ database;
	}

	// A fast shutdown, as with the embedded server;
	// the default one waits for the clients.
	@Override
	public void stop() {
		String id = this.container.getContainerId();
		this.container.getDockerClient().killContainerCmd(id).withSignal("SIGINT").exec();
		this.container.getDockerClient()
			.waitContainerCmd(id)
			.exec(new WaitContainerResultCallback())
			.awaitStatusCode(30, TimeUnit.SECONDS);
	}

	@Override
	public void start() {
		this.container.getDockerClient().startContainerCmd(this.container.getContainerId()).exec();
	}

}
