/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.math.BigDecimal;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The figures of the page. Deliveries, suppressed duplicates and published events are
 * counted from the start of the service. All other figures come from the database.
 */
record Summary(long paymentsRequested, long messagesSent, BigDecimal amountRequested,
		@JsonProperty("protected") ProtectedLedger protectedLedger,
		@JsonProperty("unprotected") UnprotectedLedger unprotectedLedger, Gateway gateway, Outbox outbox,
		Statements statements) {

	record ProtectedLedger(long deliveries, long charges, long suppressed, BigDecimal amountCharged) {

	}

	record UnprotectedLedger(long deliveries, long charges, BigDecimal amountCharged) {

	}

	record Gateway(long deliveries, long calls, long charges, long suppressed) {

	}

	record Outbox(long pending, long deadLetters, long published) {

	}

	record Statements(long deliveries, long applied, long suppressed, BigDecimal amount, long outOfOrder) {

	}

}
