/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Writer;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;

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

	private final Path directory;

	private final SlowNetwork proxy;

	private final int port = freePort();

	private final Process process;

	private SlowBroker(Path directory, Duration delay) throws Exception {
		this.directory = directory;
		this.proxy = new SlowNetwork(this.port, delay);
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
		return "127.0.0.1:" + this.proxy.port();
	}

	void newTopic(String name, int partitions) {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers()))) {
			admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.process.destroyForcibly().onExit().join();
		this.proxy.close();
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
