/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.math.BigDecimal;
import java.util.List;
import java.util.Map;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import dev.idempotency.sample.summary.Reconciliation.Differences;
import dev.idempotency.sample.summary.Summary.Gateway;
import dev.idempotency.sample.summary.Summary.ProtectedLedger;
import dev.idempotency.sample.summary.Summary.Statements;
import dev.idempotency.sample.summary.Summary.UnprotectedLedger;

/**
 * Returns the figures of the page.
 */
@RestController
class SummaryController {

	private final Totals totals;

	private final Deliveries deliveries;

	private final Suppressed suppressed;

	private final Overcharged overcharged;

	private final OutboxFigures outbox;

	private final Reconciliation reconciliation;

	private final Backlog backlog;

	private final Outcomes outcomes;

	private final StoresInUse stores;

	SummaryController(Totals totals, Deliveries deliveries, Suppressed suppressed, Overcharged overcharged,
			OutboxFigures outbox, Reconciliation reconciliation, Backlog backlog, Outcomes outcomes,
			StoresInUse stores) {
		this.totals = totals;
		this.deliveries = deliveries;
		this.suppressed = suppressed;
		this.overcharged = overcharged;
		this.outbox = outbox;
		this.reconciliation = reconciliation;
		this.backlog = backlog;
		this.outcomes = outcomes;
		this.stores = stores;
	}

	@GetMapping("/api/summary")
	Summary summary() {
		Totals.Values total = this.totals.read();
		return new Summary(total.paymentsRequested(), total.messagesSent(), total.amountRequested(),
				new ProtectedLedger(this.deliveries.of("ledger"), total.charges(),
						this.suppressed.of("LedgerListener.charge"), total.amountCharged()),
				new UnprotectedLedger(this.deliveries.of("ledger-unprotected"), total.unprotectedCharges(),
						total.unprotectedAmountCharged()),
				new Gateway(this.deliveries.of("gateway"), total.gatewayCalls(), total.gatewayCharges(),
						this.suppressed.of("GatewayListener.charge")),
				this.outbox.read(), new Statements(this.deliveries.of("statement"), total.statementLines(),
						this.suppressed.of("StatementListener.apply"), total.statementAmount(), total.outOfOrder()));
	}

	@GetMapping("/api/overcharged")
	Map<String, BigDecimal> overcharged() {
		return this.overcharged.read();
	}

	@GetMapping("/api/reconciliation")
	Differences reconciliation() {
		return this.reconciliation.read();
	}

	@GetMapping("/api/backlog")
	Map<String, Long> backlog() {
		return this.backlog.read();
	}

	@GetMapping("/api/outcomes")
	Map<String, Map<String, Long>> outcomes() {
		return this.outcomes.read();
	}

	@GetMapping("/api/stores")
	List<StoreInUse> stores() {
		return this.stores.read();
	}

}
