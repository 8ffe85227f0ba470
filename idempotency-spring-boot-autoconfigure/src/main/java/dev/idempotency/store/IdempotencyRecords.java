package dev.idempotency.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * What operators may see of the records of a store, and do to them. A store may implement
 * it beside {@link IdempotencyStore}. Obligations of every implementation:
 * <ol>
 * <li>Time is the store's own clock: it decides what is stuck.</li>
 * <li>No call looks at more than {@value #WINDOW} records, nor takes longer than the
 * configured time. What has been left out is told.</li>
 * <li>A change is atomic, and is made only to a record that is as the caller may assume
 * it.</li>
 * <li>When the store does not answer or refuses the statement,
 * {@link IdempotencyStoreUnavailableException} is thrown, and
 * {@link OperationInProgressException} when a concurrent transaction holds the
 * record.</li>
 * </ol>
 * The contract test {@code dev.idempotency.contract.IdempotencyRecordsContract}, in the
 * {@code tests} jar of this module, tests all but the time.
 *
 * @since 0.1.0
 */
public interface IdempotencyRecords {

	/**
	 * The largest number of records that one call looks at.
	 */
	int WINDOW = 100_000;

	/**
	 * Count records. A store that has more than {@value #WINDOW} of them counts those
	 * that expire last, if it can tell.
	 * @return the counts
	 */
	Overview overview();

	/**
	 * List claims that have run out and that nobody has taken over.
	 * @param limit how many at most
	 * @param after where an earlier page has ended, {@code null} to begin
	 * @return the records, those that expire last first, if the store can tell
	 * @throws IllegalArgumentException if no page of this store ends like that
	 */
	Page stuck(int limit, @Nullable String after);

	/**
	 * List failed operations, without those whose claims were given back.
	 * @param limit how many at most
	 * @param after where an earlier page has ended, {@code null} to begin
	 * @return the records, those that expire last first, if the store can tell
	 * @throws IllegalArgumentException if no page of this store ends like that
	 */
	Page failed(int limit, @Nullable String after);

	/**
	 * Look up what a completed key replays.
	 * @param key the key
	 * @return the stored result, if there is one
	 */
	Optional<byte[]> result(IdempotencyKey key);

	/**
	 * Make a key that is stuck or failed claimable. Its owner is forgotten, so that
	 * whatever it still reports is {@link Settlement#LOST}. Fence and attempt stay.
	 * @param key the key
	 * @param force whether to take it from a claim that is alive
	 * @return what came of it
	 */
	Change release(IdempotencyKey key, boolean force);

	/**
	 * Delete a record, whatever its state: its operation has never been, and its fence
	 * starts anew. The owner of a live claim writes it again when it renews or completes
	 * it; force a {@link #release release} to take the key away from it.
	 * @param key the key
	 * @param force whether to delete a claim that is alive
	 * @return what came of it
	 */
	Change evict(IdempotencyKey key, boolean force);

	/**
	 * What came of a change.
	 */
	enum Change {

		/**
		 * The record was changed.
		 */
		DONE,

		/**
		 * A claim is alive: nothing was changed.
		 */
		ALIVE,

		/**
		 * The handler has run in this process, and its completion is about to be
		 * recorded: nothing was changed.
		 */
		PENDING,

		/**
		 * The operation has completed: nothing was changed.
		 */
		COMPLETED,

		/**
		 * There is no record.
		 */
		ABSENT

	}

	/**
	 * Records in numbers.
	 *
	 * @param scopes the scopes, by their name
	 * @param complete whether all records were counted
	 * @param estimate about how many records there are, {@code null} if all were counted
	 * or nobody knows
	 */
	record Overview(List<Scope> scopes, boolean complete, @Nullable Long estimate) {

	}

	/**
	 * The records of a scope in numbers.
	 *
	 * @param name the scope
	 * @param inProgress claims that have not been settled, the stuck ones included
	 * @param stuck claims that have run out and that nobody has taken over
	 * @param failed operations that may be claimed at once
	 * @param completed completed operations, also those whose retention is over
	 * @param oldestInProgress the age of the oldest operation in progress, since its
	 * first claim
	 */
	record Scope(String name, long inProgress, long stuck, long failed, long completed,
			@Nullable Duration oldestInProgress) {

	}

	/**
	 * A part of a list.
	 *
	 * @param records the records
	 * @param complete whether there is nothing after them
	 * @param next where to go on, {@code null} if there is nothing, or the store cannot
	 */
	record Page(List<IdempotencyRecord> records, boolean complete, @Nullable String next) {

	}

}
