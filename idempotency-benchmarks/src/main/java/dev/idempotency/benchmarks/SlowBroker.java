/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;
import org.springframework.util.FileSystemUtils;

/**
 * A broker in a process of its own behind a proxy that delays its replies, as a network
 * and replicas do.
 */
final class SlowBroker implements AutoCloseable {

	private static final int BUFFER = 64 * 1024;

	private final Path directory;

	private final ServerSocket proxy;

	private final Duration delay;

	private final int port = freePort();

	private final Process process;

	private SlowBroker(Path directory, Duration delay) throws Exception {
		this.directory = directory;
		this.delay = delay;
		this.proxy = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		daemon(this::accept);
		int controller = freePort();
		Properties properties = new Properties();
		properties.putAll(Map.of("process.roles", "broker,controller", "node.id", "0", "listeners",
				"PLAINTEXT://127.0.0.1:" + this.port + ",CONTROLLER://127.0.0.1:" + controller, "advertised.listeners",
				"PLAINTEXT://" + bootstrapServers(), "controller.listener.names", "CONTROLLER",
				"controller.quorum.voters", "0@127.0.0.1:" + controller, "log.dirs", directory + "/data",
				"offsets.topic.replication.factor", "1"));
		Path configuration = directory.resolve("server.properties");
		try (Writer writer = Files.newBufferedWriter(configuration)) {
			properties.store(writer, null);
		}
		new Formatter().setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
			.setNodeId(0)
			.setClusterId(Uuid.randomUuid().toString())
			.addDirectory(directory + "/data")
			.setMetadataLogDirectory(directory + "/data")
			.setControllerListenerName("CONTROLLER")
			.run();
		this.process = new ProcessBuilder(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx512m", "-cp",
				System.getProperty("java.class.path"), "kafka.Kafka", configuration.toString()))
			.redirectErrorStream(true)
			.redirectOutput(directory.resolve("log").toFile())
			.start();
		newTopic("ready", 1);
	}

	static SlowBroker start(Duration delay) throws IOException {
		Path directory = Files.createTempDirectory("slow-broker");
		try {
			return new SlowBroker(directory, delay);
		}
		catch (Exception ex) {
			throw new IOException("The broker did not start, see " + directory + "/log", ex);
		}
	}

	private static int freePort() {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	String bootstrapServers() {
		return "127.0.0.1:" + this.proxy.getLocalPort();
	}

	void newTopic(String name, int partitions) {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers()))) {
			admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
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
		try (client; Socket broker = new Socket("127.0.0.1", this.port)) {
			client.setTcpNoDelay(true);
			broker.setTcpNoDelay(true);
			BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();
			daemon(() -> client.getInputStream().transferTo(broker.getOutputStream()));
			daemon(() -> reply(replies, client));
			InputStream input = broker.getInputStream();
			byte[] buffer = new byte[BUFFER];
			int length = input.read(buffer);
			while (length >= 0) {
				replies.add(new Reply(System.nanoTime() + this.delay.toNanos(), Arrays.copyOf(buffer, length)));
				length = input.read(buffer);
			}
		}
	}

	private static void reply(BlockingQueue<Reply> replies, Socket client) throws IOException, InterruptedException {
		while (!client.isClosed()) {
			Reply reply = replies.take();
			while (System.nanoTime() - reply.due() < 0) {
				LockSupport.parkNanos(reply.due() - System.nanoTime());
			}
			client.getOutputStream().write(reply.bytes());
		}
	}

	@Override
	public void close() throws IOException {
		this.process.destroyForcibly().onExit().join();
		this.proxy.close();
		FileSystemUtils.deleteRecursively(this.directory);
	}

	/**
	 * Bytes of the broker.
	 *
	 * @param due when they reach the client
	 * @param bytes the bytes
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
