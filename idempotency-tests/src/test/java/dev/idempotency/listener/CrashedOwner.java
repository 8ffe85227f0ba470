/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;

/**
 * Another owner that has claimed a key and crashed. Its claim does not expire during a
 * test, unless the test ends the lease.
 */
final class CrashedOwner {

	private CrashedOwner() {
	}

	static void claim(JdbcTemplate jdbc, IdempotencyKey key) {
		jdbc.update(
				"INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, token, lease_until, "
						+ "created_at, expires_at) VALUES (?, ?, ?, 'P', 1, 1, gen_random_uuid(), "
						+ "clock_timestamp() + interval '5 min', now(), now() + interval '1 day') "
						+ "ON CONFLICT (id) DO UPDATE SET state = 'P', lease_until = excluded.lease_until",
				key.id(), key.scope(), key.value());
	}

	static void endLease(JdbcTemplate jdbc, IdempotencyKey key) {
		jdbc.update("UPDATE idempotency_record SET lease_until = clock_timestamp() WHERE id = ?", key.id());
	}

}
