/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import java.math.BigDecimal;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.sample.payment.PaymentCommand;

/**
 * Charges a payment in two steps, a debit and an entry. It joins the transaction of the
 * caller or starts one, and it does not detect duplicates.
 */
@Component
class Ledger {

	private static final String DEBIT = """
			update account set balance = balance - :amount
			where ledger = :ledger and number = :account
			""";

	private static final String BALANCE = """
			select balance from account where ledger = :ledger and number = :account
			""";

	private static final String ENTRY = """
			insert into ledger_entry (ledger, payment_id, account, amount)
			values (:ledger, :paymentId, :account, :amount)
			returning id
			""";

	private final JdbcClient jdbc;

	private final CrashSwitch crashSwitch;

	Ledger(JdbcClient jdbc, CrashSwitch crashSwitch) {
		this.jdbc = jdbc;
		this.crashSwitch = crashSwitch;
	}

	@Transactional
	Receipt charge(String ledger, PaymentCommand command) {
		this.jdbc.sql(DEBIT)
			.param("ledger", ledger)
			.param("amount", command.amount())
			.param("account", command.account())
			.update();
		// The debit has locked the row. MariaDB has no RETURNING for an UPDATE.
		BigDecimal balance = this.jdbc.sql(BALANCE)
			.param("ledger", ledger)
			.param("account", command.account())
			.query(BigDecimal.class)
			.single();
		this.crashSwitch.crashIfArmed(ledger);
		long entry = this.jdbc.sql(ENTRY)
			.param("ledger", ledger)
			.param("paymentId", command.paymentId())
			.param("account", command.account())
			.param("amount", command.amount())
			.query(Long.class)
			.single();
		return new Receipt(command.paymentId(), entry, balance);
	}

}
