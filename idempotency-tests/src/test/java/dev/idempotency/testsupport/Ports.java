/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Free ports, none twice: a server that is stopped gets its own again. They are below
 * those that systems choose for outgoing connections, one of which might take it in
 * between. JVMs begin anywhere so that they hardly meet.
 */
final class Ports {

	private static final int FIRST = 12_000;

	private static final int COUNT = 10_000;

	// Nodes of a Redis cluster talk to each other on the port that is so much higher.
	private static final int BUS = 10_000;

	private static final AtomicInteger NEXT = new AtomicInteger(ThreadLocalRandom.current().nextInt(COUNT));

	private Ports() {
	}

	static int free() {
		for (int tries = 0; tries < COUNT; tries++) {
			int port = FIRST + NEXT.getAndIncrement() % COUNT;
			if (isFree(port) && isFree(port + BUS)) {
				return port;
			}
		}
		throw new IllegalStateException("No port from " + FIRST + " on is free");
	}

	private static boolean isFree(int port) {
		try (ServerSocket socket = new ServerSocket(port)) {
			return socket.isBound();
		}
		catch (IOException ex) {
			return false;
		}
	}

}
