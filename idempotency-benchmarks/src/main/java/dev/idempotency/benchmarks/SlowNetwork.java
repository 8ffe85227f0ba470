/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * A proxy that delays the replies of a server, as a network does. The whole delay of a
 * round trip is in its reply. Replies do not wait for each other.
 */
final class SlowNetwork implements AutoCloseable {

	private static final int BUFFER = 64 * 1024;

	private final ServerSocket proxy;

	private final int server;

	private final Duration delay;

	SlowNetwork(int server, Duration delay) throws IOException {
		this.server = server;
		this.delay = delay;
		this.proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		daemon(this::accept);
	}

	int port() {
		return this.proxy.getLocalPort();
	}

	private static void daemon(Loop loop) {
		Thread thread = new Thread(() -> {
			try {
				loop.run();
			}
			catch (IOException ex) {
				// The connection is closed.
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		});
		thread.setDaemon(true);
		thread.start();
	}

	private void accept() throws IOException {
		while (true) {
			Socket client = this.proxy.accept();
			daemon(() -> connect(client));
		}
	}

	private void connect(Socket client) throws IOException {
		try (client; Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.server)) {
			client.setTcpNoDelay(true);
			socket.setTcpNoDelay(true);
			BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();
			daemon(() -> {
				client.getInputStream().transferTo(socket.getOutputStream());
				socket.close();
			});
			daemon(() -> reply(replies, client));
			InputStream input = socket.getInputStream();
			byte[] buffer = new byte[BUFFER];
			int length = input.read(buffer);
			while (length >= 0) {
				replies.add(new Reply(System.nanoTime() + this.delay.toNanos(), Arrays.copyOf(buffer, length)));
				length = input.read(buffer);
			}
			replies.add(new Reply(System.nanoTime(), new byte[0]));
		}
	}

	private static void reply(BlockingQueue<Reply> replies, Socket client) throws IOException, InterruptedException {
		Reply reply = replies.take();
		while (reply.bytes().length > 0) {
			while (System.nanoTime() - reply.due() < 0) {
				LockSupport.parkNanos(reply.due() - System.nanoTime());
			}
			client.getOutputStream().write(reply.bytes());
			reply = replies.take();
		}
	}

	@Override
	public void close() throws IOException {
		this.proxy.close();
	}

	/**
	 * Bytes of the server.
	 *
	 * @param due when they reach the client
	 * @param bytes the bytes, none at the end of the connection
	 */
	private record Reply(long due, byte[] bytes) {

	}

	/**
	 * The work of a thread.
	 */
	private interface Loop {

		void run() throws IOException, InterruptedException;

	}

}
