/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.apache.kafka.clients.admin.NewTopic;
import org.awaitility.Awaitility;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;
import org.springframework.util.function.SingletonSupplier;

/**
 * The servers that all tests of a JVM share: one broker, one PostgreSQL, one MariaDB, one
 * Redis, one DynamoDB Local.
 */
public final class Servers {

	static final Map<String, String> BROKER = Map.of("auto.create.topics.enable", "true",
			"group.initial.rebalance.delay.ms", "0", "group.min.session.timeout.ms", "1000",
			"offsets.topic.num.partitions", "4", "transaction.state.log.replication.factor", "1",
			"transaction.state.log.min.isr", "1", "transaction.abort.timed.out.transaction.cleanup.interval.ms", "1000",
			"transaction.state.log.num.partitions", "4",
			// On a busy machine a broker may be silent
			// for longer than the usual nine seconds.
			"broker.session.timeout.ms", "60000");

	private static final Map<String, String> SHARE_GROUPS = Map.of("share.coordinator.state.topic.replication.factor",
			"1", "share.coordinator.state.topic.min.isr", "1", "share.coordinator.state.topic.num.partitions", "1");

	// The usual ten seconds are too few for a busy machine.
	static {
		Awaitility.setDefaultTimeout(Duration.ofSeconds(120));
	}

	private static final AtomicInteger NAMES = new AtomicInteger();

	private static final Supplier<PostgresServer> POSTGRES = SingletonSupplier.of(PostgresServer::create);

	private static final Supplier<MariaDbServer> MARIADB = SingletonSupplier.of(MariaDbServer::create);

	private static final Supplier<RedisServer> REDIS = SingletonSupplier.of(RedisServer::create);

	private static final Supplier<DynamoDbServer> DYNAMO_DB = SingletonSupplier.of(DynamoDbServer::create);

	private static final Supplier<EmbeddedKafkaBroker> KAFKA = SingletonSupplier.of(Servers::startKafka);

	private Servers() {
	}

	private static EmbeddedKafkaBroker startKafka() {
		EmbeddedKafkaBroker broker = new EmbeddedKafkaKraftBroker(1, 1).brokerProperties(BROKER)
			.brokerProperties(SHARE_GROUPS);
		broker.afterPropertiesSet();
		Runtime.getRuntime().addShutdownHook(new Thread(broker::destroy));
		return broker;
	}

	public static PostgresServer postgres() {
		return POSTGRES.get();
	}

	public static MariaDbServer mariaDb() {
		return MARIADB.get();
	}

	public static RedisServer redis() {
		return REDIS.get();
	}

	public static DynamoDbServer dynamoDb() {
		return DYNAMO_DB.get();
	}

	public static EmbeddedKafkaBroker kafka() {
		return KAFKA.get();
	}

	/**
	 * Create a name that no other test of this JVM uses.
	 * @param prefix its beginning
	 * @return the name
	 */
	public static String unique(String prefix) {
		return prefix + NAMES.incrementAndGet();
	}

	/**
	 * Create an empty database for one test.
	 * @return its URL
	 */
	public static String newDatabase() {
		return newDatabase(postgres());
	}

	public static String newDatabase(PostgresServer server) {
		return newDatabase(server, "template1");
	}

	/**
	 * Create a copy of a database to which nothing is connected.
	 * @param template the URL of the database
	 * @return the URL of the copy
	 */
	static String copyOf(String template) {
		return newDatabase(postgres(), template.substring(template.lastIndexOf('/') + 1));
	}

	private static String newDatabase(PostgresServer server, String template) {
		String name = unique("test");
		new JdbcTemplate(new AssertionDataSource(server.url("postgres"), server.username(), server.password()))
			.execute("CREATE DATABASE " + name + " TEMPLATE " + template);
		return server.url(name);
	}

	/**
	 * Create an empty database of MariaDB for one test.
	 * @return its URL, which contains the user
	 */
	public static String newMariaDb() {
		return newMariaDb(mariaDb());
	}

	public static String newMariaDb(MariaDbServer server) {
		return newMySql(server.url("mysql"));
	}

	/**
	 * Create an empty database for the driver of MySQL.
	 * @return its URL, which contains the user
	 */
	public static String newMySql() {
		String server = System.getProperty("test.mysql.url");
		return newMySql((server != null) ? server : mariaDb().url("mysql").replace("jdbc:mariadb:", "jdbc:mysql:"));
	}

	private static String newMySql(String url) {
		String name = unique("test");
		JdbcTemplate server = new JdbcTemplate(new DriverManagerDataSource(url));
		server.execute("DROP DATABASE IF EXISTS " + name);
		server.execute("CREATE DATABASE " + name);
		return url.replaceFirst("/\\w+\\?", "/" + name + "?");
	}

	/**
	 * Create a pool for a database of MariaDB or MySQL.
	 * @param url the URL, which contains the user
	 * @return the pool
	 */
	public static HikariDataSource mySqlPool(String url) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(url);
		config.setMaximumPoolSize(20);
		config.setMinimumIdle(1);
		config.setConnectionTimeout(10000);
		return new HikariDataSource(config);
	}

	/**
	 * Create a pool for a database.
	 * @param url the URL of the database
	 * @return the pool
	 */
	public static HikariDataSource pool(String url) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(url);
		config.setUsername(postgres().username());
		config.setPassword(postgres().password());
		config.setMaximumPoolSize(20);
		config.setMinimumIdle(1);
		config.setConnectionTimeout(10000);
		return new HikariDataSource(config);
	}

	/**
	 * Create a template for assertions.
	 * @param url the URL of the database
	 * @return the template
	 */
	public static JdbcTemplate jdbc(String url) {
		return new JdbcTemplate(new AssertionDataSource(url, postgres().username(), postgres().password()));
	}

	/**
	 * Create a topic for one test.
	 * @param prefix the beginning of its name
	 * @param partitions the number of partitions
	 * @return its name
	 */
	public static String newTopic(String prefix, int partitions) {
		String name = unique(prefix + "-");
		addTopics(partitions, name);
		return name;
	}

	public static void addTopics(int partitions, String... names) {
		addTopics(
				Arrays.stream(names).map((name) -> new NewTopic(name, partitions, (short) 1)).toArray(NewTopic[]::new));
	}

	/**
	 * Create topics with their own settings.
	 * @param topics the topics
	 */
	public static void addTopics(NewTopic... topics) {
		kafka().addTopics(topics);
		for (NewTopic topic : topics) {
			Kafka.lag("nobody", topic.name());
		}
	}

}
