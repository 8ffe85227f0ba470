/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.RateLimit;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.StoreObserver.StoreOutcome;

/**
 * Calls a store, reports the outcome to the circuit breaker, the listener and the log,
 * and converts each exception of the store into an {@link OperationBlockedException}: an
 * error of the store is never an error of the handler. Only an outage counts for the
 * circuit breaker. An error of unknown kind is a refusal, because it may concern one key
 * only.
 */
final class StoreCalls {

	private static final Log logger = LogFactory.getLog(StoreCalls.class);

	// The keys of one call: the default size of a poll.
	static final int MAX_KEYS = 500;

	private static final int MAX_REASONS = 100;

	// The time without a failed call after which an outage has ended.
	private static final Duration RECOVERY = Duration.ofSeconds(2);

	private final String store;

	private final Observers observers;

	private final StoreCircuit circuit;

	private final boolean failOpen;

	private final String consequence;

	private final AtomicBoolean down = new AtomicBoolean();

	private volatile long failedAt;

	// For each combination of a call and a reason: an SQL state or a type of error.
	private final RateLimit refusals = new RateLimit(MAX_REASONS, System::nanoTime);

	private Runnable onSuccess = () -> {
	};

	StoreCalls(String store, Observers observers, StoreCircuit circuit, boolean failOpen) {
		this.store = store;
		this.observers = observers;
		this.circuit = circuit;
		this.failOpen = failOpen;
		this.consequence = failOpen ? "" : ". The record is redelivered until the store is available";
		circuit.onStateChange((state) -> observers.store((observer) -> observer.circuitChanged(store, state)));
	}

	String store() {
		return this.store;
	}

	// Set the action after each successful call. To be called once, before the first
	// call of the store.
	void onSuccess(Runnable action) {
		this.onSuccess = action;
	}

	// A call, failed() or a release of the permission must follow.
	void permit(Object subject) {
		if (!this.circuit.tryAcquirePermission()) {
			throw new IdempotencyStoreUnavailableException("The circuit breaker of the idempotency store '" + this.store
					+ "' is open, so the store was not called for " + subject + this.consequence, null);
		}
	}

	StoreCircuit circuit() {
		return this.circuit;
	}

	<T> T call(StoreCall call, Object subject, Supplier<@Nullable T> action) {
		return call(call, subject, action, false);
	}

	// A call in the transaction of the handler. If that can only be rolled back, the
	// store has neither refused the call nor failed.
	<T> T callInTransaction(StoreCall call, Object subject, Supplier<@Nullable T> action) {
		return call(call, subject, action, true);
	}

	private <T> T call(StoreCall call, Object subject, Supplier<@Nullable T> action, boolean inTransaction) {
		long start = System.nanoTime();
		T answer;
		try {
			answer = answer(action.get());
		}
		catch (Throwable ex) {
			// If the transaction can only be rolled back, the store has answered.
			OperationBlockedException blocked = (inTransaction && ex instanceof UnexpectedRollbackException) ? null
					: blocked(call, subject, ex);
			ended(call, blocked, since(start));
			if (blocked == null) {
				throw ex;
			}
			throw blocked;
		}
		ended(call, null, since(start));
		return answer;
	}

	private OperationBlockedException blocked(StoreCall call, Object subject, Throwable error) {
		try {
			if (error instanceof OperationInProgressException busy) {
				return new OperationInProgressException(busy.getMessage() + ": " + subject, busy.retryAfter());
			}
			if (error instanceof IdempotencyRecordUnreadableException unreadable) {
				return new IdempotencyRecordUnreadableException(unreadable.getMessage() + ": " + subject,
						unreadable.getCause());
			}
			boolean outage = error instanceof IdempotencyStoreUnavailableException
					|| (!(error instanceof IdempotencyStoreRefusedException) && StoreErrors.isOutage(error));
			return outage ? unavailable(call, subject, error) : refused(call, subject, error);
		}
		catch (Throwable ex) {
			// An error whose cause or text cannot be read.
			return new IdempotencyStoreRefusedException(
					"A " + name(call) + " of the idempotency store failed with " + error.getClass().getName(), null,
					new IllegalStateException(error.getClass().getName()));
		}
	}

	// What reports the end of a call must not change its outcome: a completion without
	// an outcome would be lost.
	private void ended(StoreCall call, @Nullable OperationBlockedException blocked, Duration duration) {
		StoreOutcome outcome = StoreOutcome.OK;
		if (blocked instanceof IdempotencyStoreUnavailableException unavailable) {
			outcome = StoreOutcome.UNAVAILABLE;
			failed(unavailable, duration);
		}
		else {
			// A store that refuses a call is available.
			report(() -> this.circuit.onSuccess(duration));
		}
		if (blocked instanceof IdempotencyStoreRefusedException refused) {
			outcome = StoreOutcome.REFUSED;
			report(() -> logRefusal(call, refused));
			this.observers.store((observer) -> observer.storeFailed(this.store, refused));
		}
		if (outcome == StoreOutcome.OK) {
			report(this::logRecovery);
			report(this.onSuccess);
		}
		StoreOutcome answered = outcome;
		this.observers.store((observer) -> observer.storeCalled(this.store, call, answered, duration));
	}

	private static void report(Runnable report) {
		try {
			report.run();
		}
		catch (Throwable ex) {
			warn(ex);
		}
	}

	private static void warn(Throwable error) {
		try {
			logger.warn("The end of a store call could not be reported: " + error.getClass().getName());
		}
		catch (Throwable ex) {
			// The log itself has failed.
		}
	}

	// Split the keys of a large batch: each call has the same time-out.
	static <T> List<List<T>> parts(List<T> keys) {
		return IntStream.iterate(0, (from) -> from < keys.size(), (from) -> from + MAX_KEYS)
			.mapToObj((from) -> part(keys, from))
			.toList();
	}

	static <T> List<T> part(List<T> keys, int from) {
		return (keys.size() <= MAX_KEYS) ? keys : keys.subList(from, Math.min(keys.size(), from + MAX_KEYS));
	}

	// Without a stream for a single record. An empty list of List.of() allocates an
	// iterator.
	static <T, R extends @Nullable Object> List<R> each(List<T> elements, Function<T, R> function) {
		return (elements.size() == 1) ? Collections.singletonList(function.apply(elements.get(0)))
				: elements.stream().map(function).toList();
	}

	static <T> List<T> some(List<T> elements, Predicate<T> condition) {
		if (elements.size() > 1) {
			return elements.stream().filter(condition).toList();
		}
		return (elements.isEmpty() || condition.test(elements.get(0))) ? elements : Collections.emptyList();
	}

	// A store that does not answer for a key has refused the call.
	<T, R> List<R> callEachInTransaction(StoreCall call, Object subject, List<T> keys,
			Function<List<T>, List<R>> action) {
		return inParts(keys, (part) -> callInTransaction(call, subject, () -> answers(part, action.apply(part))));
	}

	// Claim keys, and claim those once more without their content whose other content is
	// only reported. That of a claim in progress is reported when it has completed.
	static List<Claim> claim(List<Item> items, Function<List<ClaimRequest>, List<Claim>> claiming) {
		List<Claim> claims = claiming.apply(each(items, Item::request));
		for (int i = 0; i < claims.size(); i++) {
			if (items.get(i).isToBeReported(claims.get(i))) {
				return claimWithoutContent(items, claims, claiming);
			}
		}
		return claims;
	}

	private static List<Claim> claimWithoutContent(List<Item> items, List<Claim> claims,
			Function<List<ClaimRequest>, List<Claim>> claiming) {
		Map<Integer, Item> differing = new LinkedHashMap<>();
		for (int i = 0; i < claims.size(); i++) {
			if (items.get(i).isToBeReported(claims.get(i))) {
				differing.put(i, items.get(i));
			}
		}
		List<Claim> answers = claiming
			.apply(each(List.copyOf(differing.values()), (item) -> item.request().withoutFingerprint()));
		List<Claim> all = new ArrayList<>(claims);
		Iterator<Claim> next = answers.iterator();
		differing.forEach((index, item) -> {
			Claim answer = next.next();
			if (answer instanceof Claim.Acquired) {
				// The first owner has failed, or has been evicted, meanwhile.
				item.compareNothing();
			}
			all.set(index,
					(answer instanceof Claim.Completed known) ? new Claim.Completed(known.result(), true) : answer);
		});
		return all;
	}

	static <R> List<R> answers(List<?> keys, @Nullable List<R> answers) {
		Assert.state(answers != null && answers.size() == keys.size(), "The store has not answered for each key");
		for (int i = 0; i < answers.size(); i++) {
			answer(answers.get(i));
		}
		return answers;
	}

	static <R> R answer(@Nullable R answer) {
		Assert.state(answer != null, "The store has answered null");
		return answer;
	}

	static <T, R> List<R> inParts(List<T> keys, Function<List<T>, List<R>> action) {
		return (!keys.isEmpty() && keys.size() <= MAX_KEYS) ? action.apply(keys)
				: parts(keys).stream().flatMap((part) -> action.apply(part).stream()).toList();
	}

	private static Duration since(long start) {
		return Duration.ofNanos(System.nanoTime() - start);
	}

	// Settle a claim. An interrupt, which may have ended the handler, does not end
	// the call.
	<T> T settle(StoreCall call, Object subject, Supplier<@Nullable T> action) {
		boolean interrupted = Thread.interrupted();
		try {
			return call(call, subject, action);
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	void failed(IdempotencyStoreUnavailableException error, Duration duration) {
		report(() -> this.circuit.onError(duration, error));
		this.observers.store((observer) -> observer.storeFailed(this.store, error));
		report(() -> logOutage(error));
	}

	private IdempotencyStoreUnavailableException unavailable(StoreCall call, Object subject, Throwable error) {
		return new IdempotencyStoreUnavailableException("The idempotency store '" + this.store
				+ "' is unavailable. It did not answer a " + name(call) + " for " + subject + this.consequence,
				StoreErrors.code(error), error);
	}

	private IdempotencyStoreRefusedException refused(StoreCall call, Object subject, Throwable error) {
		boolean named = error instanceof IdempotencyStoreRefusedException;
		Throwable cause = named ? error.getCause() : error;
		return new IdempotencyStoreRefusedException("The idempotency store '" + this.store + "' refused a " + name(call)
				+ " for " + subject + ". The call is repeated until the store accepts it. Remove the cause: "
				+ (named ? error.getMessage() : error.getClass().getName()), StoreErrors.code(error), cause);
	}

	private static String name(StoreCall call) {
		return call.name().toLowerCase(Locale.ROOT);
	}

	// One line for the beginning of an outage and one for its end, however many records
	// are blocked.
	private void logOutage(IdempotencyStoreUnavailableException error) {
		this.failedAt = System.nanoTime();
		if (!this.down.get() && this.down.compareAndSet(false, true)) {
			logger.warn("The idempotency store '" + this.store + "' is unavailable. Until it is available again, "
					+ (this.failOpen ? "records are processed without protection, and counted"
							: "records are blocked and redelivered")
					+ ": " + error.getMessage() + StoreErrors.reason(error));
			logger.debug("The idempotency store '" + this.store + "' is unavailable", error);
		}
	}

	private void logRecovery() {
		if (this.down.get() && System.nanoTime() - this.failedAt > RECOVERY.toNanos()
				&& this.down.compareAndSet(true, false)) {
			logger.info("The idempotency store '" + this.store + "' is available again");
		}
	}

	private void logRefusal(StoreCall call, IdempotencyStoreRefusedException refusal) {
		String code = refusal.code();
		Throwable cause = refusal.getCause();
		String reason = (code != null) ? code : (cause != null) ? cause.getClass().getName() : "";
		if (this.refusals.next(call + " " + reason) >= 0) {
			logger.warn(refusal.getMessage() + StoreErrors.reason(refusal));
		}
		logger.debug("The idempotency store '" + this.store + "' refused a call", refusal);
	}

}
