/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.function.IntFunction;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * An outage of the broker or of the database, as the threads of a relay see it. The
 * pauses between attempts grow while it lasts. Its beginning and its end are logged. An
 * attempt that began before the last change shows nothing new.
 */
final class Outage {

	private static final Log logger = LogFactory.getLog(Outage.class);

	private final String outbox;

	private final IntFunction<Duration> backOff;

	private int failures;

	private boolean database;

	private long retryAt;

	private long changedAt = System.nanoTime();

	Outage(String outbox, IntFunction<Duration> backOff) {
		this.outbox = outbox;
		this.backOff = backOff;
	}

	synchronized boolean isOn() {
		return this.failures > 0;
	}

	synchronized boolean isOfBroker() {
		return isOn() && !this.database;
	}

	synchronized Duration left() {
		return isOn() ? Duration.ofNanos(this.retryAt - System.nanoTime()) : Duration.ZERO;
	}

	Duration ofBroker(long start, @Nullable Throwable error) {
		return fail(start, false, "gets no answer from the broker", error);
	}

	Duration ofDatabase(long start, Throwable error) {
		return fail(start, true, "cannot use its database (" + error.getMessage() + ")", error);
	}

	private synchronized Duration fail(long start, boolean database, String problem, @Nullable Throwable error) {
		if (start - this.changedAt < 0) {
			logger.debug("Another attempt of the relay of the outbox '" + this.outbox + "' failed", error);
			return left();
		}
		boolean isNew = !isOn() || this.database != database;
		this.database = database;
		Duration pause = pause();
		this.failures++;
		this.changedAt = System.nanoTime();
		String message = "The relay of the outbox '" + this.outbox + "' " + problem
				+ ". No messages are published; the next attempt is in " + pause.toMillis() + " ms";
		if (isNew) {
			logger.warn(message, error);
		}
		else {
			logger.debug(message, error);
		}
		return pause;
	}

	synchronized Duration pause() {
		Duration pause = this.backOff.apply(this.failures);
		this.retryAt = System.nanoTime() + pause.toNanos();
		return pause;
	}

	synchronized void end(long start) {
		if (isOn() && start - this.changedAt >= 0) {
			logger.info("The relay of the outbox '" + this.outbox + "' works again");
			this.failures = 0;
			this.changedAt = System.nanoTime();
		}
	}

}
