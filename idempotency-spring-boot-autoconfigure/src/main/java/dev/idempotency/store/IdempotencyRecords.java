/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Shows the records of a store to an operator and changes them by hand. A store offers it
 * with {@link IdempotencyStore#records()}. Obligations of every implementation:
 * <ol>
 * <li>Time is the store's own clock. It decides which claims have expired.</li>
 * <li>No call examines more than {@value #WINDOW} records or takes longer than the
 * configured time. The return value says whether records were left out.</li>
 * <li>A change is atomic. It applies only to a record in one of the states that the
 * method names.</li>
 * <li>A call throws {@link IdempotencyStoreUnavailableException} when the store does not
 * answer or refuses the statement, and {@link OperationInProgressException} when a
 * concurrent transaction holds the record.</li>
 * </ol>
 * The contract test {@code dev.idempotency.contract.IdempotencyRecordsContract}, in the
 * {@code tests} jar of this module, tests everything except the time.
 *
 * @since 0.1.0
 */
public interface IdempotencyRecords {

	/**
	 * The largest number of records that one call examines.
	 */
	int WINDOW = 100_000;

	/**
	 * Count the records of each scope. A store with more than {@value #WINDOW} records
	 * counts those that expire last, if it has such an order.
	 * @return the counts
	 */
	Overview overview();

	/**
	 * List claims that have expired and that no consumer has taken over.
	 * @param limit the largest number of records to return
	 * @param after the {@link Page#next() end} of an earlier page, {@code null} for the
	 * first page
	 * @return the records; those that expire last come first, if the store has such an
	 * order
	 * @throws IllegalArgumentException if {@code after} is not the end of a page
	 */
	Page stuck(int limit, @Nullable String after);

	/**
	 * List failed operations. Released claims are not among them.
	 * @param limit the largest number of records to return
	 * @param after the {@link Page#next() end} of an earlier page, {@code null} for the
	 * first page
	 * @return the records; those that expire last come first, if the store has such an
	 * order
	 * @throws IllegalArgumentException if {@code after} is not the end of a page
	 */
	Page failed(int limit, @Nullable String after);

	/**
	 * List the records of a selection that {@link #evictAll} would delete.
	 * @param selection the records in question
	 * @param force whether to include claims that are alive
	 * @param limit the number of records after which the page ends; a store that reads
	 * its records in steps may exceed it by one step
	 * @param after the {@link Page#next() end} of an earlier page, {@code null} for the
	 * first page; it stays valid when the records of that page have been deleted
	 * @return the records; a page that is not {@link Page#complete() complete} names its
	 * end. Two pages may contain the same record if the server of the store returns it
	 * twice, as {@code SCAN} of Redis may do
	 * @throws IllegalArgumentException if {@code after} is not the end of a page
	 */
	Page evictable(Selection selection, boolean force, int limit, @Nullable String after);

	/**
	 * Look up the result that a completed key replays.
	 * @param key the key
	 * @return the stored result, empty if there is none
	 */
	Optional<byte[]> result(IdempotencyKey key);

	/**
	 * Make an expired or failed key claimable at once. Every later call of its owner
	 * returns {@link Settlement#LOST}. Fence and attempt stay.
	 * @param key the key
	 * @param force whether to release a claim that is alive too
	 * @return the outcome
	 */
	Change release(IdempotencyKey key, boolean force);

	/**
	 * Delete a record, whatever its state. The next claim of the key starts with fence
	 * and attempt 1. The owner of a live claim writes its record again when it renews or
	 * completes the claim; a forced {@link #release release} prevents that.
	 * @param key the key
	 * @param force whether to delete a claim that is alive too
	 * @return the outcome
	 */
	Change evict(IdempotencyKey key, boolean force);

	/**
	 * Delete several records, each as {@link #evict} does, in one round trip if the store
	 * can. A record that is absent, that is alive without {@code force}, or that a
	 * concurrent transaction holds stays as it is.
	 * @param keys the keys, each at most once
	 * @param force whether to delete claims that are alive too
	 * @return the number of deleted records
	 */
	default int evictAll(Collection<IdempotencyKey> keys, boolean force) {
		int evicted = 0;
		for (IdempotencyKey key : keys) {
			try {
				evicted += (evict(key, force) == Change.DONE) ? 1 : 0;
			}
			catch (OperationInProgressException ex) {
				// A concurrent transaction holds the record, which stays as it is.
			}
		}
		return evicted;
	}

	/**
	 * The outcome of a change.
	 */
	enum Change {

		/**
		 * The record was changed.
		 */
		DONE,

		/**
		 * Nothing was changed, because a claim is alive.
		 */
		ALIVE,

		/**
		 * Nothing was changed, because the handler has run in this process and its
		 * completion is still to be recorded.
		 */
		PENDING,

		/**
		 * Nothing was changed, because the operation has completed.
		 */
		COMPLETED,

		/**
		 * Nothing was changed, because there is no record.
		 */
		ABSENT

	}

	/**
	 * Selects records of one scope.
	 *
	 * @param scope the scope
	 * @param keyPrefix the text with which the keys begin, empty for all keys
	 * @param createdFrom the earliest time of the first claim, {@code null} for no limit
	 * @param createdBefore the time before which the first claim was made, {@code null}
	 * for no limit
	 */
	record Selection(String scope, String keyPrefix, @Nullable Instant createdFrom, @Nullable Instant createdBefore) {

		public Selection {
			String problem = IdempotencyKey.problem(scope);
			Assert.isTrue(problem == null, () -> "'scope' " + problem);
			Assert.isTrue(keyPrefix.indexOf('\0') < 0, "'keyPrefix' has a NUL character, which no key has");
			Assert.isTrue(createdFrom == null || createdBefore == null || createdFrom.isBefore(createdBefore),
					() -> "'createdFrom' (" + createdFrom + ") must be before 'createdBefore' (" + createdBefore + ")");
		}

		/**
		 * Whether a record belongs to the selection. For stores that select on their
		 * client.
		 * @param key the key of the record
		 * @param createdAt the time of its first claim
		 * @return whether scope, key and time match
		 */
		public boolean matches(IdempotencyKey key, Instant createdAt) {
			return key.scope().equals(this.scope) && key.value().startsWith(this.keyPrefix)
					&& (this.createdFrom == null || !createdAt.isBefore(this.createdFrom))
					&& (this.createdBefore == null || createdAt.isBefore(this.createdBefore));
		}

	}

	/**
	 * The number of records of each scope.
	 *
	 * @param scopes the scopes, in the order of their names
	 * @param complete whether all records were counted
	 * @param estimate an estimate of the number of all records, {@code null} if all were
	 * counted or the store has no estimate
	 */
	record Overview(List<ScopeCount> scopes, boolean complete, @Nullable Long estimate) {

	}

	/**
	 * The number of records of a scope.
	 *
	 * @param name the scope
	 * @param inProgress claims that have not been settled, including the stuck ones
	 * @param stuck claims that have expired and that no consumer has taken over
	 * @param failed operations that may be claimed at once
	 * @param completed completed operations, including those whose retention has expired
	 * @param oldestInProgress the age of the oldest operation in progress, counted from
	 * its first claim, {@code null} if none is in progress
	 */
	record ScopeCount(String name, long inProgress, long stuck, long failed, long completed,
			@Nullable Duration oldestInProgress) {

		/**
		 * Count one record.
		 * @param record the record
		 * @param now the time by the clock of the store
		 * @return the number of the records of its scope that is one
		 */
		public static ScopeCount of(IdempotencyRecord record, Instant now) {
			boolean inProgress = record.state() == State.IN_PROGRESS;
			return new ScopeCount(record.key().scope(), inProgress ? 1 : 0, record.isStuck(now) ? 1 : 0,
					(record.state() == State.FAILED) ? 1 : 0, (record.state() == State.COMPLETED) ? 1 : 0,
					inProgress ? Duration.between(record.createdAt(), now) : null);
		}

		/**
		 * Add the records of another count of this scope.
		 * @param other the other count
		 * @return the sum
		 */
		public ScopeCount plus(ScopeCount other) {
			Duration oldest = this.oldestInProgress;
			Duration others = other.oldestInProgress;
			return new ScopeCount(this.name, this.inProgress + other.inProgress, this.stuck + other.stuck,
					this.failed + other.failed, this.completed + other.completed,
					(oldest == null || (others != null && others.compareTo(oldest) > 0)) ? others : oldest);
		}

	}

	/**
	 * A page of a list.
	 *
	 * @param records the records
	 * @param complete whether no record follows
	 * @param next the end of the page, to be passed as {@code after} for the next page;
	 * {@code null} if no record follows or the store cannot continue the list
	 */
	record Page(List<IdempotencyRecord> records, boolean complete, @Nullable String next) {

	}

}
