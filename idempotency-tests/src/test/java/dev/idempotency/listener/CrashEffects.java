/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;

import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The effects of {@link CrashingApp}, in order of their occurrence.
 */
record CrashEffects(JdbcTemplate jdbc) {

	void create() {
		this.jdbc.execute(
				"CREATE TABLE effect (name text, value text, fence int, at timestamptz DEFAULT clock_timestamp())");
	}

	void add(String name, String value, int fence) {
		this.jdbc.update("INSERT INTO effect (name, value, fence) VALUES (?, ?, ?)", name, value, fence);
	}

	List<String> values(String name) {
		return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY at", String.class, name);
	}

	List<Integer> fences(String name) {
		return this.jdbc.queryForList("SELECT fence FROM effect WHERE name = ? ORDER BY at", Integer.class, name);
	}

}
