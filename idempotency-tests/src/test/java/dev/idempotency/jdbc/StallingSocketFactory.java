/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import javax.net.SocketFactory;

import dev.idempotency.test.kill.Signals;

/**
 * Sockets of a driver that stop reading in the middle of a large response. They stop the
 * thread, like the kernel of a frozen host, or the whole process.
 */
public final class StallingSocketFactory extends SocketFactory {

	private static final AtomicLong LEFT = new AtomicLong(Long.MAX_VALUE);

	private static volatile boolean process;

	private static volatile CountDownLatch thaw = new CountDownLatch(0);

	/**
	 * Stop to read after so many bytes of all sockets together.
	 * @param bytes how many
	 * @param whole whether the process freezes itself, or only the thread
	 */
	public static void stallAfter(long bytes, boolean whole) {
		process = whole;
		thaw = new CountDownLatch(1);
		LEFT.set(bytes);
	}

	public static void thaw() {
		LEFT.set(Long.MAX_VALUE);
		thaw.countDown();
	}

	private static void count(int bytes) {
		if (LEFT.addAndGet(-bytes) > 0) {
			return;
		}
		LEFT.set(Long.MAX_VALUE);
		if (process) {
			Signals.freeze(ProcessHandle.current().pid());
			return;
		}
		try {
			thaw.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public Socket createSocket() {
		return new StallingSocket();
	}

	@Override
	public Socket createSocket(String host, int port) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(InetAddress host, int port) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
		throw new UnsupportedOperationException();
	}

	/**
	 * A socket whose bytes are counted.
	 */
	private static final class StallingSocket extends Socket {

		@Override
		public InputStream getInputStream() throws IOException {
			return new FilterInputStream(super.getInputStream()) {

				@Override
				public int read() throws IOException {
					count(1);
					return super.read();
				}

				@Override
				public int read(byte[] bytes, int offset, int length) throws IOException {
					int read = super.read(bytes, offset, length);
					count(Math.max(read, 0));
					return read;
				}

			};
		}

	}

}
