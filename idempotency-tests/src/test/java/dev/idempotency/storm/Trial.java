/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.kill.ChildApplication;

/**
 * An application that consumes payments from servers that may fail.
 */
interface Trial extends AutoCloseable {

	ChildApplication application();

	PaymentTopic topic();

	// The database of the charges.
	JdbcTemplate jdbc();

	default PaymentTraffic traffic() {
		return topic().traffic();
	}

	// The number of charges.
	default long effects() {
		return jdbc().queryForObject("SELECT count(*) FROM charge", Long.class);
	}

	// The number of records that are not consumed yet.
	default long lag() {
		return topic().lag();
	}

	@Override
	void close();

}
