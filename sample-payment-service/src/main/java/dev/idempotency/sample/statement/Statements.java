/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.statement;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.sample.ledger.PaymentCharged;

/**
 * Applies an event in two steps, a sum and a line, and counts events that arrive out of
 * order. It does not detect duplicates.
 */
@Component
class Statements {

	// MariaDB assigns in the order of the text, and an expression reads what has been
	// assigned before it. The comparison with the last entry therefore comes first.
	private static final String SUM = """
			update account_statement
			set out_of_order = out_of_order + case when :entry < last_entry then 1 else 0 end,
				amount = amount + :amount, balance = :balance, last_entry = :entry
			where account = :account
			""";

	private static final String LINE = """
			insert into statement_line (account, payment_id, entry, amount)
			values (:account, :paymentId, :entry, :amount)
			""";

	private final JdbcClient jdbc;

	Statements(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@Transactional
	void apply(PaymentCharged event) {
		this.jdbc.sql(SUM)
			.param("amount", event.amount())
			.param("balance", event.balance())
			.param("entry", event.entry())
			.param("account", event.account())
			.update();
		this.jdbc.sql(LINE)
			.param("account", event.account())
			.param("paymentId", event.paymentId())
			.param("entry", event.entry())
			.param("amount", event.amount())
			.update();
	}

}
