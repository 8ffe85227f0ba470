/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.List;
import java.util.stream.Collectors;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.util.function.SingletonSupplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.RedisCluster;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;

/**
 * The stores of the trials, on the shared servers.
 */
final class Stores {

	private static final SingletonSupplier<RedisCluster> CLUSTER = SingletonSupplier.of(Stores::cluster);

	private Stores() {
	}

	private static RedisCluster cluster() {
		RedisCluster cluster = new RedisCluster();
		Runtime.getRuntime().addShutdownHook(new Thread(cluster::close));
		return cluster;
	}

	static void configure(TestApp app, Combination combination, String topic, List<String> moved) {
		String store = combination.levels().get(Factor.STORE);
		app.with("idempotency.store.type", combination.jdbc() ? "jdbc" : "in-memory");
		switch (store) {
			case "PostgreSQL, partitioned" ->
				app.database(Servers.newDatabase()).with("idempotency.jdbc.layout", "partitioned");
			case "MariaDB" -> root(app.database(Servers.newMariaDb()));
			case "MariaDB, driver of MySQL" -> root(app.database(Servers.newMySql()));
			case "H2" -> app.database("jdbc:h2:mem:" + topic + ";DB_CLOSE_DELAY=-1");
			case "migrating" -> migrating(app, combination.scope(topic), moved);
			case "Redis" -> app.redis(Servers.redis()).with("idempotency.redis.key-prefix", topic + ":");
			case "Redis cluster" -> app.redis(CLUSTER.obtain().nodes().get(0))
				.with("idempotency.redis.key-prefix", topic + ":")
				.with("spring.data.redis.cluster.nodes",
						CLUSTER.obtain()
							.nodes()
							.stream()
							.map((node) -> node.host() + ":" + node.port())
							.collect(Collectors.joining(",")));
			case "DynamoDB" -> app.dynamoDb(Servers.dynamoDb()).with("idempotency.store.timeout", "5s");
			default -> app.database(Servers.newDatabase());
		}
	}

	private static void root(TestApp app) {
		app.with("spring.datasource.username", "root").with("spring.datasource.password", "");
	}

	private static void migrating(TestApp app, String scope, List<String> moved) {
		String url = Servers.newDatabase();
		DataSource dataSource = new DriverManagerDataSource(url, Servers.postgres().username(),
				Servers.postgres().password());
		JdbcSchemaMigration.migrate(dataSource, dataSource, TestDatabase.TABLE, Layout.SINGLE);
		try (JdbcIdempotencyStore old = new JdbcIdempotencyStore(dataSource, TestDatabase.TABLE,
				TestDatabase.TIMEOUT)) {
			for (String key : moved) {
				ClaimRequest claim = TestDatabase.request(IdempotencyKey.of(scope, key));
				one(old).claim(claim);
				one(old).complete(claim, null);
			}
		}
		app.database(url)
			.with("idempotency.jdbc.table", "new_record")
			.with("idempotency.store.migrate-from", "old")
			.with("idempotency.stores.old.type", "jdbc");
	}

	static DataSource observer(String url) {
		boolean mySql = url.startsWith("jdbc:m");
		return new DriverManagerDataSource(url, mySql ? "root" : Servers.postgres().username(),
				mySql ? "" : Servers.postgres().password());
	}

	/**
	 * Start all servers, so that their threads do not belong to a trial.
	 */
	static void start() {
		Servers.kafka();
		Servers.postgres();
		Servers.mariaDb();
		Servers.redis();
		Servers.dynamoDb();
		CLUSTER.obtain();
	}

}
