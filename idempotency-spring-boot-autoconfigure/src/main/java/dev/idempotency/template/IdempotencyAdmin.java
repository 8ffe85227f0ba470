/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.OperationObserver.Intervention;

/**
 * Shows the operations of an {@link IdempotencyTemplate} to an administrator and changes
 * their records by hand. Every change is logged and reported to the
 * {@link OperationObserver observers}. Calls bypass the circuit breaker.
 *
 * @since 0.1.0
 */
public final class IdempotencyAdmin {

	private static final Log logger = LogFactory.getLog(IdempotencyAdmin.class);

	private static final int PAGE = 1000;

	private static final Duration BULK_TIME = Duration.ofSeconds(10);

	private final Engine engine;

	private final Settlements settlements;

	IdempotencyAdmin(Engine engine, Settlements settlements) {
		this.engine = engine;
		this.settlements = settlements;
	}

	/**
	 * Return the name of the store for messages and meters.
	 * @return the name
	 */
	public String name() {
		return this.engine.calls().store();
	}

	/**
	 * Return the store in use.
	 * @return the store
	 */
	public IdempotencyStore store() {
		return this.engine.store();
	}

	/**
	 * Return the records of the store.
	 * @return the records, empty if the store supports only look-ups by key
	 */
	public Optional<IdempotencyRecords> records() {
		return this.engine.store().records();
	}

	/**
	 * Read the outcome of a completed operation.
	 * @param key the key
	 * @return the outcome, empty if the store has none or no {@link #records()}
	 * @throws IdempotencyResultUnreadableException if it was transformed by a
	 * {@link StoredOutcomeTransformer} and cannot be restored
	 */
	public Optional<StoredOutcome> outcome(IdempotencyKey key) {
		return records().flatMap((records) -> records.result(key))
			.map((stored) -> this.engine.results().fromStored(key, key, stored))
			.map((outcome) -> new StoredOutcome(Declined.reason(outcome), Declined.content(outcome),
					OutcomeMark.NOT_STORED.isOn(outcome)));
	}

	/**
	 * Examine a completed operation as a claim would, without claiming its key.
	 * @param operation the operation
	 * @return the answer that a delivery would get
	 */
	public Examination examine(IdempotentOperation operation) {
		ClaimRequest request = operation.newRequest();
		Claim answer = this.engine.store().lookUp(request);
		if (answer instanceof Claim.Mismatch && Fingerprint.isReported(request.fingerprint())) {
			answer = this.engine.store().lookUp(request.withoutFingerprint());
		}
		if (answer instanceof Claim.Completed completed) {
			return isDeclined(operation.key(), completed.result()) ? Examination.DECLINED : Examination.COMPLETED;
		}
		return (answer instanceof Claim.Mismatch) ? Examination.OTHER_CONTENT
				: (answer instanceof Claim.Stale) ? Examination.STALE : Examination.NOT_COMPLETED;
	}

	private boolean isDeclined(IdempotencyKey key, byte @Nullable [] stored) {
		try {
			return stored != null && Declined.reason(this.engine.results().fromStored(key, key, stored)) != null;
		}
		catch (IdempotencyResultUnreadableException ex) {
			return false;
		}
	}

	/**
	 * Return the marks of processed offsets.
	 * @return the marks, empty if the store has none
	 */
	public Optional<OffsetMarks> offsetMarks() {
		return (this.engine.store() instanceof TransactionalIdempotencyStore transactional)
				? transactional.offsetMarks() : Optional.empty();
	}

	/**
	 * Lower the mark of a partition, see {@link OffsetMarks#lower}.
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param next the offset of the first record to process again
	 * @param requestedBy the user who requests it, {@code null} if unknown
	 * @return whether a mark was lowered
	 * @throws UnsupportedOperationException if the store has no marks
	 */
	public boolean lowerMark(String scope, String topic, int partition, long next, @Nullable String requestedBy) {
		OffsetMarks marks = offsetMarks()
			.orElseThrow(() -> new UnsupportedOperationException("The store '" + name() + "' has no marks of offsets"));
		String what = Intervention.LOWER.describe("of the mark of partition " + partition + " of topic '" + plain(topic)
				+ "' in scope '" + plain(scope) + "' before the offset " + next, requestedBy);
		return intervene(Intervention.LOWER, what, "mark", () -> marks.lower(scope, topic, partition, next),
				(lowered) -> lowered ? null : "there is no such mark, or it is lower");
	}

	// The reason is null if something was changed.
	private <T> T intervene(Intervention intervention, String what, String changed, Supplier<T> action,
			Function<T, @Nullable String> reason) {
		boolean done = false;
		try {
			T outcome = action.get();
			String unchanged = reason.apply(outcome);
			done = unchanged == null;
			if (done) {
				logger.warn("Intervention: " + what);
			}
			else {
				logger.info("Not done: " + what + "; " + unchanged);
			}
			return outcome;
		}
		catch (RuntimeException ex) {
			logger.warn("The outcome of the " + what + " is unknown. Check the " + changed, ex);
			throw ex;
		}
		finally {
			intervened(intervention, done, what);
		}
	}

	private void intervened(Intervention intervention, boolean done, String description) {
		this.engine.observers().operation((observer) -> observer.intervened(intervention, done, description));
	}

	private static String plain(String text) {
		return text.replaceAll("\\p{Cntrl}", "?");
	}

	/**
	 * List the completions of this process that are still to be recorded.
	 * @return the completions
	 */
	public List<UnrecordedCompletion> unrecorded() {
		return this.settlements.completions()
			.stream()
			.map((claim) -> new UnrecordedCompletion(claim.operation().name(), claim.operation().key(),
					claim.retries().age()))
			.toList();
	}

	/**
	 * List the last duplicates of this process whose content differed from that of the
	 * operation for which their key stands, and was only reported.
	 * @return the duplicates, in the order of their deliveries
	 */
	public List<OtherContent> otherContents() {
		return this.engine.otherContents().last();
	}

	/**
	 * Release a key, see {@link IdempotencyRecords#release}. Without force, a key whose
	 * completion is still to be recorded by this process is not released.
	 * @param key the key
	 * @param force whether to release a claim that is alive too
	 * @param requestedBy the user who requests it, {@code null} if unknown
	 * @return the outcome
	 * @throws UnsupportedOperationException if the store has no {@link #records()}
	 */
	public Change release(IdempotencyKey key, boolean force, @Nullable String requestedBy) {
		return change(Intervention.RELEASE, key, force, requestedBy, (records) -> records.release(key, force));
	}

	/**
	 * Delete a record, see {@link IdempotencyRecords#evict}. Without force, a key whose
	 * completion is still to be recorded by this process is not evicted.
	 * @param key the key
	 * @param force whether to delete a claim that is alive too
	 * @param requestedBy the user who requests it, {@code null} if unknown
	 * @return the outcome
	 * @throws UnsupportedOperationException if the store has no {@link #records()}
	 */
	public Change evict(IdempotencyKey key, boolean force, @Nullable String requestedBy) {
		return change(Intervention.EVICT, key, force, requestedBy, (records) -> records.evict(key, force));
	}

	private Change change(Intervention intervention, IdempotencyKey key, boolean force, @Nullable String requestedBy,
			Function<IdempotencyRecords, Change> action) {
		IdempotencyRecords records = requireRecords();
		String what = intervention.describe((force ? "(forced) " : "") + "of the " + key, requestedBy);
		return intervene(intervention, what, "record", () -> {
			if (!force && this.settlements.hasCompletion(key)) {
				return Change.PENDING;
			}
			this.engine.cache().removeAll(Set.of(key));
			return action.apply(records);
		}, (change) -> (change == Change.DONE) ? null : "the record is " + change.name().toLowerCase(Locale.ROOT));
	}

	/**
	 * Count the records that {@link #evictAll} would delete.
	 * @param selection the records in question
	 * @param force whether to include claims that are alive, and keys whose completion is
	 * still to be recorded by this process
	 * @param limit the number of records after which to stop, at least 1
	 * @param after the {@link BulkEviction#next() end} of an earlier call, {@code null}
	 * to begin
	 * @return the number of records
	 * @throws UnsupportedOperationException if the store has no {@link #records()}
	 * @throws IllegalArgumentException if the limit is below 1, or {@code after} is not
	 * the end of a call
	 */
	public BulkEviction countEvictable(Selection selection, boolean force, int limit, @Nullable String after) {
		return bulk(recordsToEvict(limit), selection, force, limit, after, List::size);
	}

	/**
	 * Delete the records of a selection, page by page. Claims that are alive and keys
	 * whose completion is still to be recorded by this process stay, unless forced;
	 * records that a concurrent transaction holds stay always. The call ends after the
	 * limit, or after 10 seconds and the page in progress.
	 * @param selection the records to delete
	 * @param force whether to delete claims that are alive, and keys whose completion is
	 * still to be recorded by this process
	 * @param limit the number of records after which to stop, at least 1; a store that
	 * reads its records in steps may exceed it by one step
	 * @param after the {@link BulkEviction#next() end} of an earlier call, {@code null}
	 * to begin
	 * @param requestedBy the user who requests it, {@code null} if unknown
	 * @return the number of deleted records
	 * @throws UnsupportedOperationException if the store has no {@link #records()}
	 * @throws IllegalArgumentException if the limit is below 1, or {@code after} is not
	 * the end of a call
	 */
	public BulkEviction evictAll(Selection selection, boolean force, int limit, @Nullable String after,
			@Nullable String requestedBy) {
		IdempotencyRecords records = recordsToEvict(limit);
		AtomicInteger done = new AtomicInteger();
		String what = Intervention.EVICT.describe((force ? "(forced) " : "") + "of " + describe(selection),
				requestedBy);
		try {
			BulkEviction eviction = bulk(records, selection, force, limit, after, (keys) -> {
				// A duplicate must not put a completion back that it has read before.
				this.engine.cache().removeAll(keys);
				int evicted = records.evictAll(keys, force);
				done.addAndGet(evicted);
				return evicted;
			});
			if (eviction.records() > 0) {
				logger.warn("Intervention: " + what + ", " + eviction.records() + " records");
			}
			else {
				logger.info("Not done: " + what + "; no record can be evicted");
			}
			return eviction;
		}
		catch (RuntimeException ex) {
			logger.warn("The " + what + " failed after at least " + done
					+ " records. Repeat it; records that are gone do not matter", ex);
			throw ex;
		}
		finally {
			intervened(Intervention.EVICT, done.get() > 0, what);
		}
	}

	private IdempotencyRecords recordsToEvict(int limit) {
		IdempotencyRecords records = requireRecords();
		Assert.isTrue(limit >= 1, () -> "'limit' is " + limit + ". Set it to 1 or more");
		return records;
	}

	private BulkEviction bulk(IdempotencyRecords records, Selection selection, boolean force, int limit,
			@Nullable String after, ToIntFunction<List<IdempotencyKey>> action) {
		long start = System.nanoTime();
		int done = 0;
		int pending = 0;
		int examined = 0;
		String next = after;
		while (true) {
			Page page = records.evictable(selection, force, Math.min(PAGE, limit - examined), next);
			List<IdempotencyKey> keys = page.records()
				.stream()
				.map(IdempotencyRecord::key)
				.filter((key) -> force || !this.settlements.hasCompletion(key))
				.toList();
			done += keys.isEmpty() ? 0 : action.applyAsInt(keys);
			pending += page.records().size() - keys.size();
			examined += page.records().size();
			next = page.next();
			if (next == null || examined >= limit || System.nanoTime() - start > BULK_TIME.toNanos()) {
				return new BulkEviction(done, pending, page.complete(), next);
			}
		}
	}

	private static String describe(Selection selection) {
		return "records in scope '" + selection.scope() + "'"
				+ (selection.keyPrefix().isEmpty() ? ""
						: " with keys that begin with '" + plain(selection.keyPrefix()) + "'")
				+ ((selection.createdFrom() != null) ? " created from " + selection.createdFrom() : "")
				+ ((selection.createdBefore() != null) ? " created before " + selection.createdBefore() : "");
	}

	private IdempotencyRecords requireRecords() {
		return records().orElseThrow(() -> new UnsupportedOperationException("The idempotency store '" + name()
				+ "' has no IdempotencyRecords. Change its records with the tools of the store"));
	}

	/**
	 * The outcome of a bulk eviction, or of its dry run.
	 *
	 * @param records the number of records that were deleted, or would be
	 * @param pending the number of keys that were left out because their completion is
	 * still to be recorded by this process
	 * @param complete whether the selection has been examined to its end
	 * @param next the place to continue from, {@code null} if complete
	 */
	public record BulkEviction(int records, int pending, boolean complete, @Nullable String next) {

	}

	/**
	 * The completion of a handler that has run, which is still to be recorded by the
	 * store.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param key the key
	 * @param age the time since the handler returned
	 * @since 0.1.0
	 */
	public record UnrecordedCompletion(String listener, IdempotencyKey key, Duration age) {

	}

	/**
	 * The answer to the next delivery of an operation.
	 */
	public enum Examination {

		/**
		 * The operation has completed.
		 */
		COMPLETED,

		/**
		 * The handler has declined the operation for good.
		 */
		DECLINED,

		/**
		 * A higher version of the key has completed.
		 */
		STALE,

		/**
		 * The key stands for other content, so the record is rejected.
		 */
		OTHER_CONTENT,

		/**
		 * The operation has not completed.
		 */
		NOT_COMPLETED

	}

	/**
	 * The outcome of a completed operation.
	 *
	 * @param declineReason the reason for which the handler declined the operation for
	 * good, {@code null} unless it was
	 * @param result the stored result or the body of the decline, {@code null} if there
	 * is none
	 * @param resultNotStored whether the result could not be stored
	 */
	public record StoredOutcome(@Nullable String declineReason, byte @Nullable [] result, boolean resultNotStored) {

	}

}
