/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.util.List;

import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The effects of all applications, in a table.
 */
class Effects {

	private final JdbcTemplate jdbc;

	Effects(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
		jdbc.execute("CREATE TABLE effect (number serial, id text, what text)");
	}

	void add(String id, String what) {
		this.jdbc.update("INSERT INTO effect (id, what) VALUES (?, ?)", id, what);
	}

	/**
	 * Return the effects of an operation.
	 * @param id the id of the operation
	 * @return the effects in their order
	 */
	List<String> of(String id) {
		return this.jdbc.queryForList("SELECT what FROM effect WHERE id = ? ORDER BY number", String.class, id);
	}

}
