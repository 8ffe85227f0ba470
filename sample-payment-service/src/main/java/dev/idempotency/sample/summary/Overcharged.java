/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.math.BigDecimal;
import java.util.Map;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Calculates the amount that each ledger has debited in excess of one charge per payment.
 * Payments that are not yet charged do not count, so the figure is also correct under
 * load.
 */
@Component
class Overcharged {

	private static final String OVERCHARGED = """
			select (select -sum(balance) from account where ledger = :ledger)
				- coalesce(sum(charged.amount), 0)
			from (select distinct payment_id, amount from ledger_entry where ledger = :ledger) as charged
			""";

	private final JdbcClient jdbc;

	Overcharged(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	Map<String, BigDecimal> read() {
		return Map.of("protected", of("ledger"), "unprotected", of("ledger-unprotected"));
	}

	private BigDecimal of(String ledger) {
		return this.jdbc.sql(OVERCHARGED).param("ledger", ledger).query(BigDecimal.class).single();
	}

}
