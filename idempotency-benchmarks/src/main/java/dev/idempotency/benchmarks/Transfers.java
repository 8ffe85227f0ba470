/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The two statements of a business transaction.
 */
final class Transfers {

	private static final int ACCOUNTS = 10_000;

	private static final String UPDATE = "UPDATE account SET balance = balance + ? WHERE id = ?";

	private static final String INSERT = "INSERT INTO ledger (account, amount, payment) VALUES (?, ?, ?)";

	private final JdbcTemplate jdbc;

	Transfers(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
		Database database = Database.of(jdbc);
		jdbc.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)");
		jdbc.execute("CREATE TABLE ledger (id bigint " + database.identity() + " PRIMARY KEY, "
				+ "account int NOT NULL, amount int NOT NULL, payment text NOT NULL)");
		// A batch would commit each row separately in MariaDB.
		jdbc.execute("INSERT INTO account VALUES " + IntStream.range(0, ACCOUNTS)
			.mapToObj((account) -> "(" + account + ", 0)")
			.collect(Collectors.joining(", ")));
		jdbc.execute(database.analyze("account"));
	}

	void transfer(String payment) {
		this.jdbc.update(UPDATE, 5, account(payment));
		this.jdbc.update(INSERT, account(payment), 5, payment);
	}

	void transferAll(List<ConsumerRecord<String, String>> records) {
		// Sorted by account, so that two batches do not deadlock.
		List<String> payments = records.stream()
			.map(Workload::key)
			.sorted(Comparator.comparing(Transfers::account))
			.toList();
		this.jdbc.batchUpdate(UPDATE, payments.stream().map((one) -> new Object[] { 5, account(one) }).toList());
		this.jdbc.batchUpdate(INSERT, payments.stream().map((one) -> new Object[] { account(one), 5, one }).toList());
	}

	private static int account(String payment) {
		return Math.floorMod(payment.hashCode(), ACCOUNTS);
	}

}
