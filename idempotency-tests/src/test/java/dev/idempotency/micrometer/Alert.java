/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An alert rule of the published file.
 */
public final class Alert {

	private final Query query;

	private final Duration patience;

	private boolean held;

	private long since;

	private Alert(Map<String, Object> rule) {
		this.query = Query.parse(String.valueOf(rule.get("expr")));
		this.patience = Duration.parse("PT" + rule.getOrDefault("for", "0s"));
	}

	/**
	 * Read an alert rule.
	 * @param name its name
	 * @return the alert
	 */
	public static Alert of(String name) {
		try {
			return new Alert(AlertRules.rule(name));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Whether the condition holds now.
	 * @param context an application that publishes meters for Prometheus
	 * @return whether it does
	 */
	public boolean holds(ApplicationContext context) {
		PublishedMeters meters = PublishedMeters.of(context.getBean(PrometheusMeterRegistry.class).scrape());
		assertThat(meters.names()).contains(this.query.selectors().get(0).meter());
		return this.query.holds(meters);
	}

	/**
	 * Whether the condition has held for the required time. A test calls it repeatedly,
	 * as Prometheus evaluates a rule.
	 * @param context an application that publishes meters for Prometheus
	 * @return whether the alert fires
	 */
	public boolean fires(ApplicationContext context) {
		boolean holds = holds(context);
		if (holds && !this.held) {
			this.since = System.nanoTime();
		}
		this.held = holds;
		return holds && System.nanoTime() - this.since >= this.patience.toNanos();
	}

	/**
	 * The threshold of the condition.
	 * @return the limit
	 */
	double limit() {
		return this.query.limit();
	}

	/**
	 * How long the condition must hold.
	 * @return the duration
	 */
	Duration patience() {
		return this.patience;
	}

}
