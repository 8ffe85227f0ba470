/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.Collection;
import java.util.List;
import java.util.UUID;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.sample.payment.Payment.Repeat;

/**
 * Stores payments before they are sent and marks those that the broker has acknowledged.
 */
@Repository
class PaymentRepository {

	private static final int BATCH = 1_000;

	private static final String INSERT = """
			insert into payment (id, account, amount, repetition) values (?, ?, ?, ?)
			""";

	private static final String ACKNOWLEDGED = """
			update payment set messages_sent = messages_sent + ?, sent = ? where id = ?
			""";

	private static final String UNSENT = """
			select id, account, amount, repetition from payment where not sent
			""";

	private final JdbcTemplate jdbc;

	PaymentRepository(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
	}

	@Transactional
	void insert(Collection<Payment> payments) {
		this.jdbc.batchUpdate(INSERT, payments, BATCH, (statement, payment) -> {
			statement.setObject(1, payment.command().paymentId());
			statement.setString(2, payment.command().account());
			statement.setBigDecimal(3, payment.command().amount());
			statement.setString(4, payment.repeat().name());
		});
	}

	@Transactional
	void acknowledged(Collection<Dispatch> dispatches) {
		this.jdbc.batchUpdate(ACKNOWLEDGED, dispatches, BATCH, (statement, dispatch) -> {
			statement.setInt(1, dispatch.messages());
			statement.setBoolean(2, dispatch.last());
			statement.setObject(3, dispatch.command().paymentId());
		});
	}

	List<Payment> unsent() {
		return this.jdbc.query(UNSENT, (row, index) -> {
			PaymentCommand command = new PaymentCommand(row.getObject("id", UUID.class), row.getString("account"),
					row.getObject("amount", BigDecimal.class));
			return new Payment(command, Repeat.valueOf(row.getString("repetition")));
		});
	}

}
