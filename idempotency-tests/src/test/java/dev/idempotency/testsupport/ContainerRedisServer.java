/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.List;
import java.util.concurrent.TimeUnit;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.WaitContainerResultCallback;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * A server in a container, on a port of its own choice so that it keeps its address when
 * it is started again.
 */
final class ContainerRedisServer implements RedisServer {

	private static final int PORT = 6379;

	private final GenericContainer<?> container;

	private final int port = Ports.free();

	ContainerRedisServer() {
		this.container = new GenericContainer<>(IMAGE).withExposedPorts(PORT)
			.withCommand("redis-server", "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--bind",
					"0.0.0.0", "--protected-mode", "no");
		this.container.setPortBindings(List.of(this.port + ":" + PORT));
		this.container.waitingFor(Wait.forListeningPort());
		this.container.start();
	}

	@Override
	public String host() {
		return this.container.getHost();
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public void stop() {
		docker().killContainerCmd(this.container.getContainerId()).exec();
		docker().waitContainerCmd(this.container.getContainerId())
			.exec(new WaitContainerResultCallback())
			.awaitStatusCode(30, TimeUnit.SECONDS);
	}

	@Override
	public void start() {
		docker().startContainerCmd(this.container.getContainerId()).exec();
	}

	@Override
	public void freeze() {
		docker().pauseContainerCmd(this.container.getContainerId()).exec();
	}

	@Override
	public void resume() {
		docker().unpauseContainerCmd(this.container.getContainerId()).exec();
	}

	private DockerClient docker() {
		return this.container.getDockerClient();
	}

}
