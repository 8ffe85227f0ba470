/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.template.IdempotencyTemplate;

@Component
class StandingOrders {

	private static final Log logger = LogFactory.getLog(StandingOrders.class);

	private final IdempotencyTemplate template;

	private final JdbcTemplate jdbc;

	StandingOrders(IdempotencyTemplate template, JdbcTemplate jdbc) {
		this.template = template;
		this.jdbc = jdbc;
	}

	@Scheduled(cron = "${standing-orders.cron:0 */10 6-8 * * *}", zone = "Europe/Berlin")
	void execute() {
		execute(LocalDate.now(ZoneId.of("Europe/Berlin")));
	}

	void execute(LocalDate day) {
		List<String> due = this.jdbc.queryForList("SELECT id FROM standing_order WHERE day_of_month = ?", String.class,
				day.getDayOfMonth());
		for (String order : due) {
			execute(order, day);
		}
	}

	private void execute(String order, LocalDate day) {
		try {
			this.template.operation("standing-orders", order + "/" + day)
				.retention(Duration.ofDays(40))
				.execute(() -> book(order));
		}
		catch (OperationInProgressException ex) {
			logger.debug("Another instance executes the standing order " + order);
		}
		catch (RuntimeException ex) {
			logger.error("The standing order " + order + " failed. The next run executes it again", ex);
		}
	}

	private void book(String order) {
		this.jdbc.update("UPDATE account SET balance = balance - o.amount FROM standing_order o "
				+ "WHERE o.id = ? AND account.id = o.account", order);
	}

}
