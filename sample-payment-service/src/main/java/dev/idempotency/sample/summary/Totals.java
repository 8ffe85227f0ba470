/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.math.BigDecimal;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Calculates totals of the tables in one statement, so that all figures are consistent.
 */
@Component
class Totals {

	private static final String TOTALS = """
			select requested.payments as payments_requested,
				requested.messages as messages_sent,
				requested.amount as amount_requested,
				(select count(*) from ledger_entry where ledger = 'ledger') as charges,
				(select -sum(balance) from account where ledger = 'ledger') as amount_charged,
				(select count(*) from ledger_entry where ledger = 'ledger-unprotected') as unprotected_charges,
				(select -sum(balance) from account where ledger = 'ledger-unprotected') as unprotected_amount_charged,
				(select count(*) from gateway_call) as gateway_calls,
				(select count(*) from gateway_charge) as gateway_charges,
				(select count(*) from statement_line) as statement_lines,
				(select sum(amount) from account_statement) as statement_amount,
				(select sum(out_of_order) from account_statement) as out_of_order
			from (
				select count(*) as payments, coalesce(sum(messages_sent), 0) as messages,
					coalesce(sum(amount), 0.00) as amount
				from payment
			) as requested
			""";

	private final JdbcClient jdbc;

	Totals(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	Values read() {
		return this.jdbc.sql(TOTALS).query(Values.class).single();
	}

	record Values(long paymentsRequested, long messagesSent, BigDecimal amountRequested, long charges,
			BigDecimal amountCharged, long unprotectedCharges, BigDecimal unprotectedAmountCharged, long gatewayCalls,
			long gatewayCharges, long statementLines, BigDecimal statementAmount, long outOfOrder) {

	}

}
