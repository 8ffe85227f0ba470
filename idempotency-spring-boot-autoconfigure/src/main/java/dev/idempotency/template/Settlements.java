/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Settles the claims of leased mode, for handlers that have returned, asynchronous
 * handlers that have ended and transactions of the caller. A completion is pending while
 * the store is unavailable: its lease is renewed, and it is retried when the record is
 * redelivered to this process, when any call of the store succeeds, and periodically. An
 * outage therefore runs no handler twice, as long as this process lives and no other
 * owner has taken the key over. Failures and releases are retried as well, but their
 * leases are left to expire.
 * <p>
 * A key that the store has forgotten is claimed again, with the same fencing token, and
 * then completed, unless another owner has claimed it meanwhile.
 */
final class Settlements implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(Settlements.class);

	// An outage may leave any number of claims to release. The number of completions and
	// failures is limited by that of the running handlers.
	private static final int MAX_RELEASES = 1000;

	private static final Duration LAST_RETRY = Duration.ofSeconds(10);

	// The number of consecutive failed calls within SILENCE after which the last retry
	// ends. A store that quickly refuses some claims is called for all of them.
	private static final int SILENT_CALLS = 3;

	private static final Duration SILENCE = Duration.ofSeconds(2);

	private static final Duration QUEUED_WAIT = Duration.ofSeconds(1);

	private final Engine engine;

	private final StoreCalls calls;

	private final Leases leases;

	private final Map<UUID, OwnedClaim> pending = new ConcurrentHashMap<>();

	// Settlements of ended transactions that no thread has begun yet.
	private final Map<IdempotencyKey, Queued> queued = new ConcurrentHashMap<>();

	// The store was unavailable for a pending claim, and no call has succeeded since.
	private final AtomicBoolean unavailable = new AtomicBoolean();

	private final AtomicBoolean available = new AtomicBoolean();

	private final PeriodicTask retry;

	Settlements(Engine engine, Leases leases, ThreadFactory threads) {
		this.engine = engine;
		this.calls = engine.calls();
		this.leases = leases;
		this.retry = new PeriodicTask(this::retryDue, threads);
		this.calls.onSuccess(this::callSucceeded);
	}

	// Renew the lease of a claim until it is settled or left.
	OwnedClaim keep(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long since) {
		OwnedClaim claim = new OwnedClaim(operation, request, acquired, since);
		this.leases.keep(claim);
		return claim;
	}

	// Stop renewing the lease of a claim, unless its completion is pending.
	void leave(OwnedClaim claim) {
		if (!claim.isPending() || !claim.isCompletion()) {
			this.leases.release(claim);
		}
	}

	// Record a completion, and claim the key of another operation with the same call
	// of the store. If the call fails, the completion is recorded alone.
	@Nullable Claim completeAndClaim(OwnedClaim claim, IdempotentOperation next, ClaimRequest request) {
		claim.beginSettling(StoreCall.COMPLETE);
		CompletionAndClaim answer;
		try {
			answer = this.calls.settle(StoreCall.COMPLETE, claim.operation(),
					() -> answered(this.engine.store().completeAndClaim(claim.completion(), request)));
		}
		catch (OperationBlockedException ex) {
			logger.debug("A completion is repeated without the claim of " + next, ex);
			try {
				settle(StoreCall.COMPLETE, claim.operation(), List.of(claim));
			}
			finally {
				releaseLater(next, request);
			}
			return null;
		}
		if (answer.settlement() == Settlement.SETTLED) {
			ended(claim, Settlement.SETTLED);
			return answer.claim();
		}
		if (answer.claim() instanceof Claim.Acquired) {
			releaseLater(next, request);
		}
		// Its repetition restores a forgotten claim, and finds a lost one.
		settle(StoreCall.COMPLETE, claim.operation(), List.of(claim));
		return null;
	}

	private static CompletionAndClaim answered(CompletionAndClaim answer) {
		if (StoreCalls.answer(answer.settlement()) == Settlement.SETTLED) {
			StoreCalls.answer(answer.claim());
		}
		return answer;
	}

	// Record the failure of a handler. It is retried while the store is unavailable. A
	// handler that has not failed, but needs a redelivery, uses no attempt.
	void fail(Object subject, List<OwnedClaim> claims, Throwable error) {
		if (!Outcomes.isFailure(error)) {
			settle(StoreCall.RELEASE, subject, claims);
			return;
		}
		Failure failure = this.engine.results().failure(error);
		claims.forEach((claim) -> claim.setFailure(failure));
		settle(StoreCall.FAIL, subject, claims);
	}

	// Release a key as soon as the store is available. It is unknown whether the key
	// was acquired.
	void releaseLater(IdempotentOperation operation, ClaimRequest request) {
		OwnedClaim uncertain = new OwnedClaim(operation, request, new Claim.Acquired(0, 0), System.nanoTime());
		uncertain.beginSettling(StoreCall.RELEASE);
		retryLater(uncertain);
	}

	// Complete, fail or release claims, of which another owner may have one by now. The
	// outcome is that of each claim.
	void settle(StoreCall call, Object subject, List<OwnedClaim> claims) {
		claims.forEach((claim) -> claim.beginSettling(call));
		List<Settlement> answers;
		try {
			answers = sendOrRestore(call, subject, claims);
		}
		catch (Throwable ex) {
			// First, because a log may fail, too.
			claims.forEach(this::retryLater);
			if (call == StoreCall.COMPLETE) {
				logger.error("The handler has completed, but its completion could not be recorded: " + subject
						+ ". The completion is retried and the lease is renewed until it is recorded. If this process "
						+ "ends first, the handler runs once more", ex);
			}
			else {
				logger.warn(
						"The " + ((call != StoreCall.FAIL) ? "release" : "failure") + " of " + subject
								+ " could not be recorded. It is retried until it is recorded or the claim has expired",
						ex);
			}
			if (call == StoreCall.COMPLETE) {
				throw ex;
			}
			return;
		}
		for (int i = 0; i < claims.size(); i++) {
			ended(claims.get(i), answers.get(i));
		}
	}

	// Returns SETTLED or LOST for each claim.
	private List<Settlement> sendOrRestore(StoreCall call, Object subject, List<OwnedClaim> claims) {
		List<Settlement> answers = StoreCalls.inParts(claims,
				(part) -> this.calls.settle(call, subject, () -> StoreCalls.answers(part, send(call, part))));
		if (!answers.contains(Settlement.FORGOTTEN)) {
			return answers;
		}
		// A key that is free needs no failure and no release.
		return IntStream.range(0, answers.size())
			.mapToObj((i) -> (answers.get(i) != Settlement.FORGOTTEN) ? answers.get(i)
					: (call == StoreCall.COMPLETE) ? restoreAndComplete(claims.get(i)) : Settlement.SETTLED)
			.toList();
	}

	private Settlement restoreAndComplete(OwnedClaim claim) {
		if (this.leases.restore(claim) == Settlement.LOST) {
			return Settlement.LOST;
		}
		Settlement settlement = this.calls.settle(StoreCall.COMPLETE, claim.operation(),
				() -> StoreCalls.answers(List.of(claim), send(StoreCall.COMPLETE, List.of(claim))).get(0));
		if (settlement == Settlement.FORGOTTEN) {
			throw new IdempotencyStoreUnavailableException(
					"The idempotency store '" + this.calls.store() + "' has lost a claim that was just restored: "
							+ claim.operation() + ". Check the eviction policy of the store",
					null);
		}
		return settlement;
	}

	private List<Settlement> send(StoreCall call, List<OwnedClaim> claims) {
		return this.engine.store().settle(StoreCalls.each(claims, (claim) -> claim.toEnding(call)));
	}

	private void ended(OwnedClaim claim, Settlement settlement) {
		claim.end(settlement);
		this.leases.release(claim);
		if (claim.isRestored()) {
			this.leases.releaseRestored(claim);
		}
		if (claim.isCompletion() && settlement == Settlement.SETTLED) {
			this.engine.cache().add(claim.operation(), claim.result());
		}
	}

	private void retryLater(OwnedClaim claim) {
		claim.beginPending();
		if (!claim.isCompletion()) {
			this.leases.release(claim);
		}
		if (claim.isRelease() && this.pending.size() >= MAX_RELEASES) {
			return;
		}
		try {
			// The listener is notified before a retry can settle the claim.
			if (claim.isCompletion()) {
				this.engine.observers()
					.operation(
							(observer) -> observer.completionFailed(claim.operation().name(), claim.operation().key()));
			}
		}
		finally {
			this.pending.put(claim.request().token(), claim);
		}
		this.unavailable.set(true);
		try {
			this.retry.runEvery(Duration.ofSeconds(1));
		}
		catch (Error ex) {
			// The caller has further claims to add,
			// and an exception of its own to report.
			logger.error("No thread could be started to retry pending completions. The next pending completion tries "
					+ "again. Check the thread limit of the process", ex);
		}
	}

	List<OwnedClaim> completions() {
		return this.pending.values().stream().filter(OwnedClaim::isCompletion).toList();
	}

	boolean hasCompletion(IdempotencyKey key) {
		return completions().stream().anyMatch((claim) -> claim.operation().key().equals(key));
	}

	boolean isEmpty() {
		return this.pending.isEmpty() && this.queued.isEmpty();
	}

	// Queue a settlement that another thread runs soon. The next delivery of one of
	// the keys runs it first, or waits for it.
	Runnable queue(List<IdempotentOperation> operations, boolean completed, Runnable settlement) {
		Queued entry = new Queued(new FutureTask<>(settlement, null), completed);
		operations.forEach((operation) -> this.queued.put(operation.key(), entry));
		return () -> {
			entry.task().run();
			operations.forEach((operation) -> this.queued.remove(operation.key(), entry));
		};
	}

	// Wait for a settlement without a second connection of this thread.
	void awaitQueued(IdempotencyKey key) {
		Queued entry = this.queued.get(key);
		if (entry != null) {
			await(key, entry);
		}
	}

	private void await(IdempotencyKey key, Queued entry) {
		try {
			entry.task().get(QUEUED_WAIT.toMillis(), TimeUnit.MILLISECONDS);
			this.queued.remove(key, entry);
		}
		catch (TimeoutException | ExecutionException ex) {
			logger.debug("Another thread is still settling " + key, ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	// Retry the pending settlements of earlier deliveries. The claim that follows
	// shows the outcome.
	void settlePending(IdempotentOperation operation, Runnable whenStarted) {
		Queued entry = this.queued.get(operation.key());
		if (entry != null) {
			if (entry.completed()) {
				whenStarted.run();
			}
			// The claim that follows needs a connection too, so this thread may wait for
			// one.
			entry.task().run();
			await(operation.key(), entry);
		}
		this.pending.values()
			.stream()
			.filter((claim) -> claim.operation().key().equals(operation.key()))
			.sorted(Comparator.comparing(OwnedClaim::ending))
			.forEach((claim) -> {
				if (claim.isCompletion()) {
					whenStarted.run();
				}
				retry(claim, false, true);
			});
	}

	// Called after each successful call of the store, on the thread of the caller.
	private void callSucceeded() {
		if (this.unavailable.get() && this.unavailable.compareAndSet(true, false)) {
			this.available.set(true);
			this.retry.runNow();
		}
	}

	private void retryDue() {
		this.pending.values().removeIf(OwnedClaim::isExpiredRelease);
		boolean storeAnswers = this.available.getAndSet(false);
		if (storeAnswers) {
			this.pending.values().forEach((claim) -> claim.retries().makeDue());
		}
		for (OwnedClaim claim : this.pending.values()) {
			// One of them may be the probe of the circuit breaker. A claim that cannot be
			// settled now does not delay the others, unless the store is unavailable.
			if (claim.retries().isDue() && !retryQuietly(claim, storeAnswers, !storeAnswers)) {
				return;
			}
		}
	}

	// Retry all pending settlements a last time, whatever the state of the
	// circuit breaker.
	void settleLast() {
		long start = System.nanoTime();
		long answered = start;
		int unavailable = 0;
		for (OwnedClaim claim : this.pending.values()) {
			long now = System.nanoTime();
			if (now - start > LAST_RETRY.toNanos()
					|| (unavailable >= SILENT_CALLS && now - answered > SILENCE.toNanos())) {
				return;
			}
			boolean available = retryQuietly(claim, false, false);
			unavailable = available ? 0 : unavailable + 1;
			answered = available ? System.nanoTime() : answered;
		}
	}

	// Returns whether the store was available.
	private boolean retryQuietly(OwnedClaim claim, boolean storeAnswers, boolean asProbe) {
		try {
			retry(claim, storeAnswers, asProbe);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			logger.debug("The store is unavailable; the settlement is still pending: " + claim, ex);
			return false;
		}
		catch (Throwable ex) {
			logger.debug("The settlement is still pending: " + claim, ex);
		}
		return true;
	}

	// As a probe, the retry needs a permission of the circuit breaker.
	private void retry(OwnedClaim claim, boolean storeAnswers, boolean asProbe) {
		Settlement settlement;
		// A redelivery and the retry thread must not send the same settlement.
		claim.retries().lock().lock();
		try {
			if (!this.pending.containsKey(claim.request().token())) {
				return;
			}
			if (asProbe) {
				this.calls.permit(claim.operation());
			}
			settlement = sendAgain(claim, storeAnswers);
		}
		finally {
			claim.retries().lock().unlock();
		}
		ended(claim, settlement);
		if (claim.isRelease()) {
			return;
		}
		if (claim.isCompletion()) {
			this.engine.observers()
				.operation((observer) -> observer.completionSettled(claim.operation().name(), claim.operation().key(),
						settlement));
		}
		claim.notifyLateObserver(settlement);
		if (settlement == Settlement.SETTLED) {
			logger.info("A pending settlement is recorded now: " + claim);
		}
		else {
			logger.error("A pending settlement could not be recorded: " + claim
					+ ". Another owner has taken the key over" + (claim.isCompletion()
							? ", so the operation may take effect twice. Compare the effects of this key" : ""));
		}
	}

	private Settlement sendAgain(OwnedClaim claim, boolean storeAnswers) {
		try {
			Settlement settlement = sendOrRestore(claim.ending(), claim.operation(), List.of(claim)).get(0);
			this.pending.remove(claim.request().token(), claim);
			return settlement;
		}
		catch (Throwable ex) {
			claim.retries().failed(storeAnswers || ex instanceof IdempotencyStoreRefusedException);
			this.unavailable.set(true);
			throw ex;
		}
	}

	// Retry the completions that have neither an outcome nor a retry. Near the end of the
	// stack, even the attempt to note a retry may fail.
	void retryUnnoted(List<OwnedClaim> claims) {
		for (OwnedClaim claim : claims) {
			if (!claim.isEnded() && !this.pending.containsKey(claim.request().token())) {
				claim.beginSettling(StoreCall.COMPLETE);
				retryLater(claim);
			}
		}
	}

	static OperationLostException logged(OperationLostException lost) {
		logger.error(lost.getMessage());
		return lost;
	}

	@Override
	public void close() {
		this.retry.close();
		settleLast();
	}

	private record Queued(FutureTask<@Nullable Void> task, boolean completed) {
	}

}
