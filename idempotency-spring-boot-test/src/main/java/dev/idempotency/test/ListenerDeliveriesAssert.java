/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

import org.assertj.core.api.AbstractAssert;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * Assertions about the deliveries to an idempotent listener. Each waits, for five seconds
 * at most, until as many deliveries as it expects have been seen, because a callback may
 * follow the commit of an offset. Then it fails if there are more.
 *
 * @since 0.1.0
 * @see RecordedDeliveries
 */
public final class ListenerDeliveriesAssert extends AbstractAssert<ListenerDeliveriesAssert, ListenerDeliveries> {

	private static final Duration PATIENCE = Duration.ofSeconds(5);

	ListenerDeliveriesAssert(ListenerDeliveries actual) {
		super(actual, ListenerDeliveriesAssert.class);
	}

	/**
	 * Verify that the handler has run to its end exactly once for a key, and that no
	 * owner of the key has lost it to another one. Failed attempts do not count.
	 * @param key the key without its scope
	 * @return this
	 */
	public ListenerDeliveriesAssert processedOnce(String key) {
		hasOutcome(key, Outcome.PROCESSED, 1);
		return hasOutcome(key, Outcome.LOST, 0);
	}

	/**
	 * Verify the number of deliveries of a key that were skipped or replayed, because the
	 * operation had completed.
	 * @param key the key without its scope
	 * @param count the number of deliveries
	 * @return this
	 */
	public ListenerDeliveriesAssert duplicates(String key, int count) {
		return hasOutcome(key, Outcome.DUPLICATE, count);
	}

	/**
	 * Verify the number of deliveries of a key whose handler has failed, including the
	 * retries of the container.
	 * @param key the key without its scope
	 * @param count the number of deliveries
	 * @return this
	 */
	public ListenerDeliveriesAssert failed(String key, int count) {
		return hasOutcome(key, Outcome.FAILED, count);
	}

	/**
	 * Verify the number of deliveries of a key with an outcome, 0 only if it was
	 * delivered with other outcomes. A delivery that was blocked, for example with
	 * {@link Outcome#IN_PROGRESS}, is followed by another one.
	 * @param key the key without its scope
	 * @param outcome the outcome
	 * @param count the number of deliveries
	 * @return this
	 */
	public ListenerDeliveriesAssert hasOutcome(String key, Outcome outcome, int count) {
		// Without a delivery, there is nothing that could have had the outcome.
		eventually(() -> count(key, outcome) >= count && !this.actual.of(key).isEmpty());
		int seen = count(key, outcome);
		if (seen != count || this.actual.of(key).isEmpty()) {
			failWithMessage("Expected %s of the key '%s' with the outcome %s in the listener %s, but there %s %s.%n%s",
					deliveries(count), key, outcome, this.actual, (seen == 1) ? "is" : "are",
					(seen == 0) ? "none" : seen, seen(key));
		}
		return this;
	}

	/**
	 * Verify that the store has a claim of the key that is not settled.
	 * @param key the key without its scope
	 * @return this
	 */
	public ListenerDeliveriesAssert isInProgress(String key) {
		return hasState(key, State.IN_PROGRESS);
	}

	/**
	 * Verify that the store remembers the completion of the key.
	 * @param key the key without its scope
	 * @return this
	 */
	public ListenerDeliveriesAssert isCompleted(String key) {
		return hasState(key, State.COMPLETED);
	}

	/**
	 * Verify that the store has the key as failed or released: its next delivery runs the
	 * handler.
	 * @param key the key without its scope
	 * @return this
	 */
	public ListenerDeliveriesAssert isFailed(String key) {
		return hasState(key, State.FAILED);
	}

	/**
	 * Verify that the store has no record of the key, whoever may have written it.
	 * @param key the key without its scope
	 * @return this
	 */
	public ListenerDeliveriesAssert isUnknown(String key) {
		isListener();
		eventually(() -> this.actual.records(key).isEmpty());
		if (!this.actual.records(key).isEmpty()) {
			failWithMessage("Expected no record of the key '%s' in the store.%n%s", key, seen(key));
		}
		return this;
	}

	private void isListener() {
		if (!this.actual.isKnown()) {
			failWithMessage("There is no idempotent listener %s. Correct its name, or use one of %s.", this.actual,
					this.actual.listeners());
		}
	}

	private ListenerDeliveriesAssert hasState(String key, State state) {
		isListener();
		eventually(() -> isInState(key, state));
		if (!isInState(key, state)) {
			failWithMessage("Expected the key '%s' of the listener %s to be %s in the store.%n%s", key, this.actual,
					state, seen(key));
		}
		return this;
	}

	private boolean isInState(String key, State state) {
		// A claim is in progress before the first delivery of its listener has ended.
		if (state != State.IN_PROGRESS && this.actual.scopes().isEmpty()) {
			return false;
		}
		List<IdempotencyRecord> records = this.actual.records(key);
		return !records.isEmpty() && records.stream().allMatch((record) -> record.state() == state);
	}

	private static void eventually(BooleanSupplier condition) {
		try {
			Awaitility.await()
				.atMost(PATIENCE)
				.pollDelay(Duration.ZERO)
				.pollInterval(Duration.ofMillis(20))
				.until(condition::getAsBoolean);
		}
		catch (ConditionTimeoutException ex) {
			// The assertion that follows says what was seen.
		}
	}

	private int count(String key, Outcome outcome) {
		return (int) this.actual.of(key).stream().filter((execution) -> execution.outcome() == outcome).count();
	}

	private static String deliveries(int count) {
		return switch (count) {
			case 0 -> "no delivery";
			case 1 -> "1 delivery";
			default -> count + " deliveries";
		};
	}

	private String seen(String key) {
		List<HandledOperation> executions = this.actual.of(key);
		String deliveries = executions.isEmpty()
				? "no delivery of the key has ended; the listeners with deliveries are " + this.actual.listeners()
				: executions.stream().map(ListenerDeliveriesAssert::text).collect(Collectors.joining(", "));
		List<IdempotencyRecord> records = this.actual.records(key);
		return "Seen: " + deliveries + ". In the store: " + (records.isEmpty() ? "no record"
				: records.stream().map(ListenerDeliveriesAssert::text).collect(Collectors.joining(", "))) + ".";
	}

	private static String text(HandledOperation execution) {
		return execution.outcome() + ((execution.attempt() > 0) ? " (attempt " + execution.attempt() + ")" : "");
	}

	private static String text(IdempotencyRecord record) {
		return record.state() + " in the scope '" + record.key().scope() + "' (fence " + record.fence() + ", attempt "
				+ record.attempt() + ")";
	}

}
