/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;
import org.springframework.util.FileSystemUtils;
import redis.embedded.RedisServer;

/**
 * The servers on this machine: a broker in this JVM, PostgreSQL and Redis.
 */
final class Servers implements AutoCloseable {

	private final EmbeddedKafkaBroker kafka;

	private final EmbeddedPostgres postgres;

	private final RedisServer redis;

	private @Nullable RedisServer durableRedis;

	private @Nullable Path durableDirectory;

	private @Nullable MariaDbProcess mariaDb;

	private @Nullable DynamoDbProcess dynamoDb;

	private final Producer<String, String> producer;

	private final Duration latency;

	private final Map<Integer, SlowNetwork> networks = new HashMap<>();

	private int names;

	private Servers(EmbeddedKafkaBroker kafka, EmbeddedPostgres postgres, RedisServer redis, Duration latency) {
		this.kafka = kafka;
		this.postgres = postgres;
		this.redis = redis;
		this.latency = latency;
		this.producer = new KafkaProducer<>(Map.of("bootstrap.servers", kafka.getBrokersAsString(), "linger.ms", "5"),
				new StringSerializer(), new StringSerializer());
	}

	static Servers start() throws IOException {
		return start(Map.of(), Duration.ZERO);
	}

	/**
	 * Start the servers, whose replies are delayed. Those of the broker are not: records
	 * are polled and committed in batches.
	 */
	static Servers start(Map<String, String> settings, Duration latency) throws IOException {
		EmbeddedKafkaBroker kafka = new EmbeddedKafkaKraftBroker(1, 1)
			.brokerProperties(Map.of("offsets.topic.num.partitions", "1"));
		kafka.afterPropertiesSet();
		// By default the class starts a server without durability, for tests.
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setServerConfig("fsync", "on")
			.setServerConfig("synchronous_commit", "on")
			.setServerConfig("shared_buffers", "512MB")
			.setServerConfig("max_wal_size", "4GB");
		settings.forEach(builder::setServerConfig);
		EmbeddedPostgres postgres = builder.start();
		RedisServer redis = RedisServer.newRedisServer()
			.port(freePort())
			.bind("127.0.0.1")
			.setting("save \"\"")
			.setting("appendonly no")
			.build();
		redis.start();
		return new Servers(kafka, postgres, redis, latency);
	}

	// The port through which an application reaches a server.
	private int port(int server) {
		return this.latency.isZero() ? server : this.networks.computeIfAbsent(server, (port) -> {
			try {
				return new SlowNetwork(port, this.latency);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}).port();
	}

	private String throughNetwork(String url, int server) {
		return url.replace(":" + server, ":" + port(server));
	}

	static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	String newTopic(int partitions) {
		String name = "benchmark-" + ++this.names;
		this.kafka.addTopics(new NewTopic(name, partitions, (short) 1));
		return name;
	}

	Producer<String, String> producer() {
		return this.producer;
	}

	String bootstrapServers() {
		return this.kafka.getBrokersAsString();
	}

	/**
	 * Create a database and return the properties of an application, which are the same
	 * for both listeners.
	 */
	Map<String, Object> properties() {
		String database = "benchmark" + ++this.names;
		emptyRedis();
		query("CREATE DATABASE " + database);
		Map<String, Object> properties = new LinkedHashMap<>();
		properties.put("spring.main.banner-mode", "off");
		properties.put("spring.datasource.url",
				throughNetwork(this.postgres.getJdbcUrl("postgres", database), this.postgres.getPort())
						+ "&socketTimeout=60");
		properties.put("spring.data.redis.port", port(redisPort()));
		properties.put("spring.kafka.bootstrap-servers", this.kafka.getBrokersAsString());
		properties.put("spring.kafka.consumer.auto-offset-reset", "earliest");
		properties.put("spring.kafka.consumer.max-poll-records", 500);
		properties.put("spring.kafka.listener.ack-mode", "batch");
		properties.put("idempotency.cleanup.enabled", false);
		return properties;
	}

	// The start of an application scans the keys, which would be counted as round trips.
	private void emptyRedis() {
		try (RedisClient client = RedisClient.create(RedisURI.create("127.0.0.1", redisPort()));
				StatefulRedisConnection<String, String> connection = client.connect()) {
			connection.sync().flushall();
		}
	}

	/**
	 * Create a database in MariaDB, which is started if it is not running, and return the
	 * properties of an application that uses it.
	 */
	Map<String, Object> mariaDbProperties() {
		MariaDbProcess server = this.mariaDb;
		if (server == null) {
			server = MariaDbProcess.start();
			this.mariaDb = server;
		}
		Map<String, Object> properties = properties();
		properties.put("spring.datasource.url",
				throughNetwork(server.createDatabase("benchmark" + ++this.names), server.port()));
		return properties;
	}

	/**
	 * Start DynamoDB Local, if it is not running, and return the properties of an
	 * application that uses it with a table of its own.
	 */
	Map<String, Object> dynamoDbProperties() {
		DynamoDbProcess server = this.dynamoDb;
		if (server == null) {
			server = DynamoDbProcess.start();
			this.dynamoDb = server;
		}
		Map<String, Object> properties = properties();
		properties.put("benchmark.dynamodb-endpoint",
				throughNetwork(server.endpoint().toString(), server.endpoint().getPort()));
		properties.put("idempotency.dynamodb.table", "idempotency-" + ++this.names);
		return properties;
	}

	/**
	 * Describe the servers that only some rows need and that are running.
	 */
	Map<String, String> describeOptional() {
		Map<String, String> lines = new LinkedHashMap<>();
		if (this.mariaDb != null) {
			lines.put("MariaDB", this.mariaDb.describe());
		}
		if (this.dynamoDb != null) {
			lines.put("DynamoDB Local", this.dynamoDb.describe());
		}
		return lines;
	}

	/**
	 * Query PostgreSQL.
	 */
	String query(String sql) {
		try (Connection connection = this.postgres.getPostgresDatabase().getConnection();
				Statement statement = connection.createStatement()) {
			if (!statement.execute(sql)) {
				return "";
			}
			try (ResultSet row = statement.getResultSet()) {
				return row.next() ? row.getString(1) : "";
			}
		}
		catch (SQLException ex) {
			throw new IllegalStateException("PostgreSQL refused '" + sql + "'", ex);
		}
	}

	String describeNetwork() {
		return this.latency.isZero() ? "loopback"
				: "a proxy that delays each reply by %.1f ms".formatted(this.latency.toNanos() / 1e6);
	}

	int redisPort() {
		return this.redis.ports().get(0);
	}

	/**
	 * Start a second Redis server, which has written a change to its disk before it
	 * answers, unless it is running.
	 */
	int durableRedisPort() throws IOException {
		RedisServer server = this.durableRedis;
		if (server == null) {
			this.durableDirectory = Files.createTempDirectory("idempotency-redis");
			server = RedisServer.newRedisServer()
				.port(freePort())
				.bind("127.0.0.1")
				.setting("save \"\"")
				.setting("appendonly yes")
				.setting("appendfsync always")
				.setting("dir " + this.durableDirectory)
				.build();
			server.start();
			this.durableRedis = server;
		}
		return server.ports().get(0);
	}

	@Override
	public void close() throws IOException {
		this.producer.close();
		for (SlowNetwork network : this.networks.values()) {
			network.close();
		}
		if (this.durableRedis != null) {
			this.durableRedis.stop();
			FileSystemUtils.deleteRecursively(this.durableDirectory);
		}
		if (this.mariaDb != null) {
			this.mariaDb.close();
		}
		if (this.dynamoDb != null) {
			this.dynamoDb.close();
		}
		this.redis.stop();
		this.postgres.close();
		this.kafka.destroy();
	}

}
