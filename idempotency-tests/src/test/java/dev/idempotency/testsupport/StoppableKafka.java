/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.awaitility.Awaitility;
import org.springframework.util.FileSystemUtils;

import static org.awaitility.Awaitility.await;

/**
 * A broker in a separate process, which can be killed and restarted with its address and
 * data any number of times.
 */
public final class StoppableKafka implements AutoCloseable {

	private static final Duration READY = Duration.ofSeconds(60);

	private static final int ANSWER = 500;

	private final int port = Ports.free();

	private final int proxiedPort = Ports.free();

	private final int proxyPort = Ports.free();

	private final KafkaProcess process;

	private StoppableKafka() throws Exception {
		this.process = new KafkaProcess(Uuid.randomUuid(), 0, properties());
		this.process.start();
		awaitReady();
	}

	/**
	 * Start a broker.
	 * @return the broker
	 */
	public static StoppableKafka create() {
		try {
			return new StoppableKafka();
		}
		catch (Exception ex) {
			throw new IllegalStateException("Kafka did not start", ex);
		}
	}

	private Properties properties() {
		int controller = Ports.free();
		Properties properties = new Properties();
		properties.putAll(Servers.BROKER);
		properties.putAll(Map.of("process.roles", "broker,controller", "listeners",
				"PLAINTEXT://127.0.0.1:" + this.port + ",PROXIED://127.0.0.1:" + this.proxiedPort
						+ ",CONTROLLER://127.0.0.1:" + controller,
				"controller.listener.names", "CONTROLLER", "controller.quorum.voters", "0@127.0.0.1:" + controller,
				"offsets.topic.replication.factor", "1", "log.cleaner.dedupe.buffer.size", "2097152"));
		properties.putAll(Map.of("advertised.listeners",
				"PLAINTEXT://127.0.0.1:" + this.port + ",PROXIED://127.0.0.1:" + this.proxyPort,
				"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT"));
		// A killed broker can register again when its former session has ended.
		properties.putAll(Map.of("broker.session.timeout.ms", "2000", "broker.heartbeat.interval.ms", "200"));
		return properties;
	}

	public String bootstrapServers() {
		return "127.0.0.1:" + this.port;
	}

	/**
	 * Start a proxy. Clients that use it do not know another address of the broker.
	 * @return the proxy
	 */
	public FaultyNetwork proxy() {
		return new FaultyNetwork(this.proxiedPort, this.proxyPort);
	}

	/**
	 * Kill the process with SIGKILL, also when it is frozen. The broker does not close
	 * its sessions and recovers its logs at the next start. Acknowledged records are
	 * kept.
	 */
	public void stop() {
		this.process.stop();
	}

	/**
	 * Restart the broker and wait, for about four seconds, until it serves its clients.
	 */
	public void start() {
		this.process.start();
		awaitReady();
	}

	private void awaitReady() {
		try (Admin admin = admin()) {
			await().atMost(READY)
				.pollInterval(Duration.ofMillis(20))
				.failFast("Kafka ended, see " + this.process.log(), () -> !this.process.isAlive())
				.ignoreExceptions()
				.until(() -> serves(admin));
		}
	}

	// A broker that is not registered yet is not in the metadata.
	private static boolean serves(Admin admin) throws Exception {
		return !admin.describeCluster(new DescribeClusterOptions().timeoutMs(ANSWER)).nodes().get().isEmpty();
	}

	/**
	 * Freeze the whole process. Its connections stay open and are not answered.
	 */
	public void freeze() {
		this.process.freeze();
	}

	public void resume() {
		this.process.resume();
	}

	public void createTopic(String name, int partitions) {
		try (Admin admin = admin()) {
			admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
			// The controller knows it before the broker does.
			TopicPartition first = new TopicPartition(name, 0);
			Awaitility.await()
				.ignoreExceptions()
				.until(() -> admin.listOffsets(Map.of(first, OffsetSpec.latest()))
					.partitionResult(first)
					.get() != null);
		}
		catch (Exception ex) {
			throw new IllegalStateException("Topic " + name + " was not created", ex);
		}
	}

	private Admin admin() {
		return Admin.create(Map.of("bootstrap.servers", bootstrapServers(), "reconnect.backoff.max.ms", 100));
	}

	/**
	 * Stop the broker and delete its data.
	 */
	@Override
	public void close() {
		stop();
		try {
			FileSystemUtils.deleteRecursively(this.process.directory());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
