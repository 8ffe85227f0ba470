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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Uuid;
import org.springframework.util.FileSystemUtils;

import static org.awaitility.Awaitility.await;

/**
 * Three brokers in separate processes, which keep each record three times and acknowledge
 * it when two of them have it.
 */
public final class KafkaCluster implements AutoCloseable {

	private static final int BROKERS = 3;

	private static final Duration READY = Duration.ofSeconds(120);

	private static final int ANSWER = 1000;

	private final List<KafkaProcess> brokers = new ArrayList<>();

	private final List<Integer> ports = IntStream.range(0, BROKERS).mapToObj((i) -> Ports.free()).toList();

	private final List<Integer> controllers = IntStream.range(0, BROKERS).mapToObj((i) -> Ports.free()).toList();

	/**
	 * Start the brokers.
	 */
	public KafkaCluster() {
		try {
			Uuid cluster = Uuid.randomUuid();
			for (int node = 0; node < BROKERS; node++) {
				this.brokers.add(new KafkaProcess(cluster, node, properties(node), "-Xmx256m"));
			}
		}
		catch (Exception ex) {
			throw new IllegalStateException("Kafka did not start", ex);
		}
		this.brokers.forEach(KafkaProcess::start);
		try (Admin admin = admin()) {
			await().atMost(READY)
				.failFast("Kafka ended, see " + this.brokers.get(0).log(),
						() -> !this.brokers.stream().allMatch(KafkaProcess::isAlive))
				.ignoreExceptions()
				.until(() -> admin.describeCluster(new DescribeClusterOptions().timeoutMs(ANSWER))
					.nodes()
					.get()
					.size() == BROKERS);
		}
	}

	private Properties properties(int node) {
		Properties properties = new Properties();
		properties.putAll(Servers.BROKER);
		properties.putAll(Map.of("process.roles", "broker,controller", "listeners",
				"PLAINTEXT://127.0.0.1:" + this.ports.get(node) + ",CONTROLLER://127.0.0.1:"
						+ this.controllers.get(node),
				"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
				"controller.listener.names", "CONTROLLER", "controller.quorum.voters", voters(),
				"log.cleaner.dedupe.buffer.size", "2097152"));
		properties.putAll(Map.of("default.replication.factor", "3", "min.insync.replicas", "2",
				"offsets.topic.replication.factor", "3", "transaction.state.log.replication.factor", "3",
				"transaction.state.log.min.isr", "2", "auto.create.topics.enable", "false",
				// The default.
				"broker.session.timeout.ms", "9000"));
		return properties;
	}

	private String voters() {
		return IntStream.range(0, BROKERS)
			.mapToObj((i) -> i + "@127.0.0.1:" + this.controllers.get(i))
			.collect(Collectors.joining(","));
	}

	public String bootstrapServers() {
		return this.ports.stream().map((port) -> "127.0.0.1:" + port).collect(Collectors.joining(","));
	}

	/**
	 * Create a topic, and wait until all brokers have its partitions.
	 * @param name the name of the topic
	 * @param partitions the number of its partitions
	 */
	public void createTopic(String name, int partitions) {
		try (Admin admin = admin()) {
			admin.createTopics(List.of(new NewTopic(name, partitions, (short) BROKERS))).all().get();
			await().atMost(READY).ignoreExceptions().until(() -> {
				TopicDescription topic = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
				return topic.partitions().stream().allMatch((partition) -> partition.isr().size() == BROKERS);
			});
		}
		catch (Exception ex) {
			throw new IllegalStateException("Topic " + name + " was not created", ex);
		}
	}

	/**
	 * Return the broker that coordinates a consumer group. It also leads a third of the
	 * partitions.
	 * @param group the group
	 * @return the number of the broker
	 */
	public int coordinator(String group) {
		try (Admin admin = admin()) {
			return admin.describeConsumerGroups(List.of(group)).all().get().get(group).coordinator().id();
		}
		catch (Exception ex) {
			throw new IllegalStateException("The coordinator of " + group + " is unknown", ex);
		}
	}

	/**
	 * Kill a broker with SIGKILL.
	 * @param broker the number of the broker
	 */
	public void stop(int broker) {
		this.brokers.get(broker).stop();
	}

	/**
	 * Freeze a broker with its connections open.
	 * @param broker the number of the broker
	 */
	public void freeze(int broker) {
		this.brokers.get(broker).freeze();
	}

	public void resume(int broker) {
		this.brokers.get(broker).resume();
	}

	private Admin admin() {
		return Admin.create(Map.of("bootstrap.servers", bootstrapServers(), "reconnect.backoff.max.ms", 100));
	}

	/**
	 * Kill the brokers and delete their data.
	 */
	@Override
	public void close() {
		this.brokers.forEach(KafkaProcess::stop);
		try {
			for (KafkaProcess broker : this.brokers) {
				FileSystemUtils.deleteRecursively(broker.directory());
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
