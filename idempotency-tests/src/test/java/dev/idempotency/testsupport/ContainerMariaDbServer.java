/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.List;
import java.util.concurrent.TimeUnit;

import com.github.dockerjava.api.command.WaitContainerResultCallback;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.mariadb.MariaDBContainer;

/**
 * A server in a container, on a port of its own choice so that it keeps its address when
 * it is started again.
 */
final class ContainerMariaDbServer implements MariaDbServer {

	private final MariaDBContainer container;

	private final int port = Ports.free();

	ContainerMariaDbServer() {
		this.container = new MariaDBContainer(IMAGE).withUsername("root").withPassword("");
		this.container.setCommand(SETTINGS.toArray(String[]::new));
		this.container.setPortBindings(List.of(this.port + ":3306"));
		this.container.waitingFor(Wait.forListeningPort());
		this.container.start();
	}

	@Override
	public String url(String database) {
		return "jdbc:mariadb://" + this.container.getHost() + ":" + this.port + "/" + database + "?user=root";
	}

	@Override
	public void stop() {
		String id = this.container.getContainerId();
		this.container.getDockerClient().killContainerCmd(id).withSignal("SIGKILL").exec();
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
