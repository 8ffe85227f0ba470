/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A proxy between clients and a server, which disturbs their connections on command.
 */
public final class FaultyNetwork implements AutoCloseable {

	/**
	 * A disturbance.
	 */
	public enum Fault {

		/**
		 * None.
		 */
		NONE(0),

		/**
		 * Everything arrives a millisecond later, in each direction.
		 */
		LATENCY_1_MS(1),

		/**
		 * Everything arrives five milliseconds later, in each direction.
		 */
		LATENCY_5_MS(5),

		/**
		 * Everything arrives fifty milliseconds later, in each direction.
		 */
		LATENCY_50_MS(50),

		/**
		 * Connections are reset, and new ones are reset at once.
		 */
		CUT(0),

		/**
		 * Connections are not answered and not reset, and never work again. New ones
		 * neither.
		 */
		HALF_OPEN(0),

		/**
		 * Requests reach the server, and its answers are lost. Connections are reset at
		 * the end.
		 */
		ANSWERS_LOST(0),

		/**
		 * The server sends, and nothing reaches it. Connections are reset at the end.
		 */
		REQUESTS_LOST(0),

		/**
		 * A hundred bytes every 20 milliseconds, in each direction.
		 */
		SLOW(20);

		private final int millis;

		Fault(int millis) {
			this.millis = millis;
		}

		boolean isLatency() {
			return name().startsWith("LATENCY");
		}

	}

	private static final int SLOW_BYTES = 100;

	private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

	private final ServerSocket clients;

	private final InetSocketAddress server;

	private volatile Fault fault = Fault.NONE;

	/**
	 * Create a proxy.
	 * @param port the port of the server on this machine
	 */
	public FaultyNetwork(int port) {
		this(port, 0);
	}

	/**
	 * Create a proxy whose port must be known before.
	 * @param port the port of the server on this machine
	 * @param own the port of the proxy, 0 for any
	 */
	public FaultyNetwork(int port, int own) {
		try {
			this.server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
			this.clients = new ServerSocket(own, 100, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		start(this::accept);
	}

	public int port() {
		return this.clients.getLocalPort();
	}

	/**
	 * Begin a disturbance, or end it.
	 * @param next the disturbance
	 */
	public void set(Fault next) {
		Fault before = this.fault;
		this.fault = next;
		if (next == Fault.HALF_OPEN) {
			this.connections.forEach((connection) -> connection.dead = true);
		}
		if (next == Fault.CUT || before == Fault.ANSWERS_LOST || before == Fault.REQUESTS_LOST) {
			this.connections.forEach(Connection::reset);
		}
	}

	private void accept() {
		while (!this.clients.isClosed()) {
			try {
				Socket client = this.clients.accept();
				if (this.fault == Fault.CUT) {
					reset(client);
					continue;
				}
				this.connections.add(new Connection(client));
			}
			catch (IOException ex) {
				// The server is down, or the proxy is closed.
			}
		}
	}

	private static void reset(Socket socket) {
		try {
			socket.setSoLinger(true, 0);
			socket.close();
		}
		catch (IOException ex) {
			// It is closed already.
		}
	}

	private static void start(Runnable task) {
		Thread thread = new Thread(task, "faulty-network");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void close() {
		try {
			this.clients.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.connections.forEach(Connection::reset);
	}

	/**
	 * A connection of a client.
	 */
	private final class Connection {

		private final Socket client;

		private final Socket server = new Socket();

		// Nothing passes any more, and the client is not informed.
		private volatile boolean dead;

		Connection(Socket client) throws IOException {
			this.client = client;
			this.dead = FaultyNetwork.this.fault == Fault.HALF_OPEN;
			try {
				this.server.connect(FaultyNetwork.this.server, 1000);
			}
			catch (IOException ex) {
				FaultyNetwork.reset(client);
				throw ex;
			}
			client.setTcpNoDelay(true);
			this.server.setTcpNoDelay(true);
			pump(this.client, this.server, Fault.REQUESTS_LOST);
			pump(this.server, this.client, Fault.ANSWERS_LOST);
		}

		// One thread reads and another one writes, so that a latency does not limit the
		// rate.
		private void pump(Socket from, Socket to, Fault losing) {
			BlockingQueue<Chunk> chunks = new LinkedBlockingQueue<>(1000);
			start(() -> read(from, chunks, losing));
			start(() -> write(to, chunks));
		}

		private void read(Socket from, BlockingQueue<Chunk> chunks, Fault losing) {
			byte[] buffer = new byte[16384];
			try {
				InputStream input = from.getInputStream();
				for (int length = input.read(buffer); length >= 0; length = input.read(buffer)) {
					Fault now = FaultyNetwork.this.fault;
					if (!this.dead && now != losing) {
						long latency = now.isLatency() ? TimeUnit.MILLISECONDS.toNanos(now.millis) : 0;
						chunks.put(new Chunk(Arrays.copyOf(buffer, length), System.nanoTime() + latency));
					}
				}
			}
			catch (IOException | InterruptedException ex) {
				// The connection has ended.
			}
			if (!this.dead) {
				reset();
			}
		}

		private void write(Socket to, BlockingQueue<Chunk> chunks) {
			try {
				OutputStream output = to.getOutputStream();
				while (!to.isClosed()) {
					Chunk chunk = chunks.poll(1, TimeUnit.SECONDS);
					if (chunk != null) {
						TimeUnit.NANOSECONDS.sleep(chunk.due() - System.nanoTime());
						write(output, chunk.bytes());
					}
				}
			}
			catch (IOException | InterruptedException ex) {
				// The connection has ended.
			}
		}

		private void write(OutputStream output, byte[] bytes) throws IOException, InterruptedException {
			int written = 0;
			while (written < bytes.length) {
				boolean slow = FaultyNetwork.this.fault == Fault.SLOW;
				int length = slow ? Math.min(SLOW_BYTES, bytes.length - written) : bytes.length - written;
				TimeUnit.MILLISECONDS.sleep(slow ? Fault.SLOW.millis : 0);
				output.write(bytes, written, length);
				written += length;
			}
		}

		private void reset() {
			FaultyNetwork.this.connections.remove(this);
			FaultyNetwork.reset(this.client);
			FaultyNetwork.reset(this.server);
		}

	}

	/**
	 * Bytes on their way.
	 *
	 * @param bytes the bytes
	 * @param due when they arrive
	 */
	private record Chunk(byte[] bytes, long due) {

	}

}
