/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongPredicate;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowCallbackHandler;

/**
 * The times at which payments were charged, in milliseconds, by payment.
 *
 * @param times the times of each payment, in their order
 */
record TimedCharges(Map<String, List<Long>> times) {

	// A payment that takes effect later than this was delayed by a failure.
	private static final long LATE = 2000;

	// The charges of the application name their columns by position.
	static void create(JdbcTemplate jdbc) {
		ChargeLog.create(jdbc);
		jdbc.execute("ALTER TABLE charge ADD COLUMN charged_at timestamptz DEFAULT clock_timestamp()");
	}

	static TimedCharges read(JdbcTemplate jdbc) {
		Map<String, List<Long>> times = new LinkedHashMap<>();
		RowCallbackHandler add = (row) -> times
			.computeIfAbsent(row.getString("payment"), (payment) -> new ArrayList<>())
			.add(row.getLong("at"));
		jdbc.query(
				"SELECT payment, (extract(epoch from charged_at) * 1000)::bigint AS at FROM charge ORDER BY charged_at",
				add);
		return new TimedCharges(times);
	}

	List<String> lost(Iterable<String> payments) {
		List<String> lost = new ArrayList<>();
		payments.forEach((payment) -> {
			if (!this.times.containsKey(payment)) {
				lost.add(payment);
			}
		});
		return lost;
	}

	int doubles() {
		return this.times.values().stream().mapToInt((charges) -> charges.size() - 1).sum();
	}

	// Returns the payments with a repeated charge whose former charge was at no time that
	// explains the repetition.
	Map<String, List<Long>> unexplained(LongPredicate explanation) {
		Map<String, List<Long>> unexplained = new LinkedHashMap<>();
		this.times.forEach((payment, charges) -> {
			if (!charges.subList(0, charges.size() - 1).stream().allMatch(explanation::test)) {
				unexplained.put(payment, charges);
			}
		});
		return unexplained;
	}

	// Returns the time from which payments took effect in time again.
	long recovered(Map<String, Long> sent, long failure) {
		return this.times.entrySet().stream().mapToLong((charges) -> {
			long first = charges.getValue().get(0);
			return (first - sent.get(charges.getKey()) > LATE) ? first : failure;
		}).max().orElse(failure);
	}

	long longestDelay(Map<String, Long> sent) {
		return this.times.entrySet()
			.stream()
			.mapToLong((charges) -> charges.getValue().get(0) - sent.get(charges.getKey()))
			.max()
			.orElse(0);
	}

}
