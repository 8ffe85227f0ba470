/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

/**
 * The stores.
 */
enum Store {

	/**
	 * PostgreSQL.
	 */
	JDBC {

		@Override
		String version() {
			return String.valueOf(jdbc(newDatabase()).queryForObject("SHOW server_version", String.class));
		}

		@Override
		TestApp configure(TestApp app) {
			return app.with("idempotency.store.type", "jdbc");
		}

	},

	/**
	 * MariaDB.
	 */
	MARIADB {

		@Override
		String version() {
			return String.valueOf(jdbc(newDatabase()).queryForObject("SELECT version()", String.class));
		}

		@Override
		TestApp configure(TestApp app) {
			return JDBC.configure(app)
				.with("spring.datasource.username", "root")
				.with("spring.datasource.password", "");
		}

		@Override
		String newDatabase() {
			return Servers.newMariaDb();
		}

		@Override
		JdbcTemplate jdbc(String database) {
			return new JdbcTemplate(new DriverManagerDataSource(database));
		}

	},

	/**
	 * The driver of MySQL.
	 */
	MYSQL {

		@Override
		String version() {
			return String.valueOf(jdbc(newDatabase()).queryForObject("SELECT version()", String.class));
		}

		@Override
		TestApp configure(TestApp app) {
			return MARIADB.configure(app);
		}

		@Override
		String newDatabase() {
			return Servers.newMySql();
		}

		@Override
		JdbcTemplate jdbc(String database) {
			return MARIADB.jdbc(database);
		}

	},

	/**
	 * Redis.
	 */
	REDIS {

		@Override
		String version() {
			String info = RedisProcess.ask(Servers.redis(), "INFO server");
			return info.lines()
				.filter((line) -> line.startsWith("redis_version:"))
				.findFirst()
				.orElseThrow()
				.substring("redis_version:".length());
		}

		@Override
		TestApp configure(TestApp app) {
			return app.redis(Servers.redis());
		}

	},

	/**
	 * DynamoDB Local.
	 */
	DYNAMO_DB {

		@Override
		String version() {
			return "DynamoDB Local";
		}

		@Override
		TestApp configure(TestApp app) {
			return app.dynamoDb(Servers.dynamoDb());
		}

	};

	// The version of the server.
	abstract String version();

	abstract TestApp configure(TestApp app);

	// The database of the charges.
	String newDatabase() {
		return Servers.newDatabase();
	}

	JdbcTemplate jdbc(String database) {
		return Servers.jdbc(database);
	}

}
