/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.jdbc.core.DataClassRowMapper;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The table of charges. It has no constraint, so that duplicates are visible.
 */
final class ChargeLog implements DisposableBean {

	private static final String INSERT = "INSERT INTO charge VALUES (?, ?, ?, ?, ?)";

	private final JdbcTemplate jdbc;

	private final HikariDataSource outside;

	ChargeLog(JdbcTemplate jdbc, DataSourceProperties properties) {
		this.jdbc = jdbc;
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(properties.getUrl());
		config.setUsername(properties.getUsername());
		config.setPassword(properties.getPassword());
		config.setMinimumIdle(0);
		this.outside = new HikariDataSource(config);
	}

	static void create(JdbcTemplate jdbc) {
		jdbc.execute("CREATE TABLE charge (payment text, amount bigint, process bigint, fence int, attempt int)");
	}

	static List<Charge> read(JdbcTemplate jdbc) {
		return jdbc.query("SELECT * FROM charge ORDER BY payment, fence", new DataClassRowMapper<>(Charge.class));
	}

	// Writes in the current transaction.
	void join(Charge charge) {
		insert(this.jdbc, charge);
	}

	// Commits immediately, like an external system, regardless of the caller.
	void commit(Charge charge) {
		insert(new JdbcTemplate(this.outside), charge);
	}

	private static void insert(JdbcTemplate jdbc, Charge charge) {
		jdbc.update(INSERT, charge.payment(), charge.amount(), charge.process(), charge.fence(), charge.attempt());
	}

	@Override
	public void destroy() {
		this.outside.close();
	}

}
