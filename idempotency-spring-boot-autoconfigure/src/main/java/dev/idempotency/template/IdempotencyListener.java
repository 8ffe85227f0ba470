package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Callbacks for the events of operations, stores and the cleanup. A callback runs on the
 * thread of the event and should return quickly. Its exceptions are logged and dropped.
 * Events are reported as they are observed, so a process that dies reports nothing.
 *
 * @since 0.1.0
 */
public interface IdempotencyListener {

	/**
	 * Combine listeners. The exceptions of a listener are logged and dropped.
	 * @param listeners the listeners, in the order in which they are called
	 * @return a listener that calls each of them
	 */
	static IdempotencyListener all(List<IdempotencyListener> listeners) {
		return new IdempotencyListeners(listeners);
	}

	/**
	 * Called when the handling of a record has ended.
	 * @param execution the execution
	 */
	default void executed(Execution execution) {
	}

	/**
	 * Called when a call of the store has returned.
	 * @param store the name of the store
	 * @param call the call
	 * @param outcome the outcome of the call
	 * @param duration the duration of the call
	 */
	default void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
	}

	/**
	 * Called when the store has refused a call or was unavailable, before
	 * {@link #storeCalled}.
	 * @param store the name of the store
	 * @param error an {@link IdempotencyStoreRefusedException} or an
	 * {@link IdempotencyStoreUnavailableException}, whose causes may quote values
	 */
	default void storeFailed(String store, OperationBlockedException error) {
	}

	/**
	 * Called when the circuit breaker of a store has a new state, and with its initial
	 * state.
	 * @param store the name of the store
	 * @param state the new state
	 */
	default void circuitChanged(String store, StoreCircuit.State state) {
	}

	/**
	 * Called when a record has no usable idempotency key.
	 * @param listener the name of the listener
	 * @param policy the policy that applies
	 */
	default void keyMissing(String listener, MissingKeyPolicy policy) {
	}

	/**
	 * Called when the cleanup has deleted expired records.
	 * @param table the name of the table
	 * @param deleted the number of records
	 */
	default void cleanedUp(String table, int deleted) {
	}

	/**
	 * Called when a handler has run and its completion could not be recorded. The
	 * completion is retried.
	 * @param listener the name of the listener
	 * @param key the key
	 */
	default void completionFailed(String listener, IdempotencyKey key) {
	}

	/**
	 * Called when the retry of a completion has settled it.
	 * @param listener the name of the listener
	 * @param key the key
	 * @param settlement {@link Settlement#LOST} if another owner has taken over the key
	 */
	default void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
	}

	/**
	 * Called when a user has requested a change by hand.
	 * @param intervention the kind of change
	 * @param done whether at least one record or message was changed
	 */
	default void intervened(Intervention intervention, boolean done) {
	}

	/**
	 * Called when a run of the cleanup has ended, even if it has deleted nothing.
	 * @param table the name of the table
	 * @param duration the duration of the run
	 * @param backlogAge the time since the oldest remaining record expired, zero if there
	 * is none
	 */
	default void cleanupEnded(String table, Duration duration, Duration backlogAge) {
	}

	/**
	 * Called when a store whose keys move to another one has answered a claim: the key is
	 * completed there, another owner has it, or it stands for other content.
	 * @param store the name of the store to which the keys move
	 * @param source the name of the store that has answered
	 * @param answer the answer
	 */
	default void migrationAnswered(String store, String source, Claim answer) {
	}

	/**
	 * Called when the eviction policies of the servers of a store have been checked.
	 * @param store the name of the store
	 * @param possible whether at least one server may evict records before their
	 * retention ends
	 */
	default void evictionChecked(String store, boolean possible) {
	}

	/**
	 * Called when a record is blocked: it waits, and so does its partition.
	 * @param record the record
	 */
	default void blocked(BlockedRecord record) {
	}

	/**
	 * Called when a record is no longer blocked in this process: it is processed, another
	 * record is delivered in its place, or its partition is assigned to another consumer.
	 * @param record the record
	 */
	default void unblocked(BlockedRecord record) {
	}

	/**
	 * A record that is blocked.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param topic the topic
	 * @param partition the partition
	 * @param offset the offset
	 * @param since the time since which it is blocked in this process
	 */
	record BlockedRecord(String listener, String topic, int partition, long offset, Instant since) {

	}

	/**
	 * The handling of one record.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param mode the mode of protection
	 * @param key the key, {@code null} if the record has none
	 * @param outcome the outcome
	 * @param duration the duration, including the handler
	 * @param attempt the number of starts of the operation, including this one; 0 if the
	 * handler did not run under a claim, and for a record of a batch
	 */
	record Execution(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome, Duration duration,
			int attempt) {

		/**
		 * Create an execution without an attempt.
		 * @param listener the name of the listener, from a bounded set
		 * @param mode the mode of protection
		 * @param key the key, {@code null} if the record has none
		 * @param outcome the outcome
		 * @param duration the duration, including the handler
		 */
		public Execution(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome, Duration duration) {
			this(listener, mode, key, outcome, duration, 0);
		}

	}

	/**
	 * The outcome of the handling of a record.
	 */
	enum Outcome {

		/**
		 * The handler ran and its completion is recorded.
		 */
		PROCESSED,

		/**
		 * The operation had completed before, so the handler did not run.
		 */
		DUPLICATE,

		/**
		 * A higher version of the key had completed, so the handler did not run. The
		 * record is skipped or rejected.
		 */
		STALE,

		/**
		 * Another consumer runs the operation. The record is redelivered.
		 */
		IN_PROGRESS,

		/**
		 * The handler failed.
		 */
		FAILED,

		/**
		 * The handler refused the operation for good. Its duplicates count as
		 * {@link #DUPLICATE}.
		 */
		OPERATION_REFUSED,

		/**
		 * The record can never be processed as it is.
		 */
		REJECTED,

		/**
		 * The handler ran without protection.
		 */
		UNPROTECTED,

		/**
		 * The handler ran, but another owner has taken over the key.
		 */
		LOST,

		/**
		 * The store was unavailable. The record is redelivered.
		 */
		UNAVAILABLE,

		/**
		 * The store refused the call for a reason that concerns this record or the
		 * privileges of the application. The record is redelivered.
		 */
		REFUSED,

		/**
		 * The value that the store holds under the key is not a record of this library.
		 * The Kafka record is redelivered.
		 */
		UNREADABLE

	}

	/**
	 * A change that a user requests by hand.
	 */
	enum Intervention {

		/**
		 * A key is released.
		 */
		RELEASE,

		/**
		 * A record, or a selection of records, is deleted.
		 */
		EVICT,

		/**
		 * The mark of a partition is lowered.
		 */
		LOWER,

		/**
		 * Dead letters of the outbox are published again.
		 */
		RETRY,

		/**
		 * Dead letters of the outbox are deleted.
		 */
		DISCARD;

		/**
		 * Describe the change for a log line.
		 * @param object the changed object with a preposition, such as "of the key"
		 * @param requestedBy the user who requests it, {@code null} if unknown
		 * @return a part of a sentence, without line breaks from the name of the user
		 */
		public String describe(String object, @Nullable String requestedBy) {
			return name().toLowerCase(Locale.ROOT) + " " + object + " by " + ((requestedBy != null)
					? "'" + requestedBy.replaceAll("\\p{Cntrl}", "?") + "'" : "an unknown user");
		}

	}

	/**
	 * A call of the store.
	 */
	enum StoreCall {

		/**
		 * A key is claimed, or inserted into a transaction.
		 */
		CLAIM,

		/**
		 * A completion is recorded.
		 */
		COMPLETE,

		/**
		 * A failure is recorded.
		 */
		FAIL,

		/**
		 * A claim whose outcome is unknown is released.
		 */
		RELEASE,

		/**
		 * The leases of running handlers are renewed.
		 */
		RENEW

	}

	/**
	 * The outcome of a call of the store.
	 */
	enum StoreOutcome {

		/**
		 * The store answered.
		 */
		OK,

		/**
		 * The store refused the call.
		 */
		REFUSED,

		/**
		 * The store was unavailable.
		 */
		UNAVAILABLE

	}

}
