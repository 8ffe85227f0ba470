/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Compares the statements with the ledger, payment by payment.
 */
@Component
class Reconciliation {

	private static final String COMPARED = """
			with charge as (select id, payment_id, account, amount from ledger_entry where ledger = 'ledger')
			select
				(select count(distinct payment_id) from charge
					where not exists (select 1 from statement_line line where line.payment_id = charge.payment_id)) as missing,
				(select count(*) from statement_line line
					where not exists (select 1 from charge where charge.id = line.entry
						and charge.payment_id = line.payment_id and charge.account = line.account
						and charge.amount = line.amount)) as unknown,
				(select count(*) - count(distinct payment_id) from statement_line) as doubled
			""";

	private final JdbcClient jdbc;

	Reconciliation(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	Differences read() {
		return this.jdbc.sql(COMPARED).query(Differences.class).single();
	}

	/**
	 * The differences between the statements and the ledger.
	 *
	 * @param missing the number of charged payments without a line, which may still be
	 * pending under load
	 * @param unknown the number of lines without an entry in the ledger
	 * @param doubled the number of lines in excess of one per payment
	 */
	record Differences(long missing, long unknown, long doubled) {

	}

}
