package dev.idempotency.template;

import java.time.Duration;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Settlement;

/**
 * Callbacks for what happens to operations. They run on the thread of the operation and
 * should be quick; what they throw is logged and ignored. A callback tells what has been
 * observed: a process that dies reports nothing.
 *
 * @since 0.1.0
 */
public interface IdempotencyListener {

	/**
	 * The handling of a record has ended on this thread.
	 * @param execution what happened
	 */
	default void executed(Execution execution) {
	}

	/**
	 * A call of the store has returned.
	 * @param store the name of the store
	 * @param call what was asked
	 * @param outcome how the call ended
	 * @param duration how long it took
	 */
	default void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
	}

	/**
	 * A call of the store was refused, or the store was unavailable; called before
	 * {@link #storeCalled}.
	 * @param store the name of the store
	 * @param error an {@link IdempotencyStoreRefusedException} or an
	 * {@link IdempotencyStoreUnavailableException}, whose causes may quote values
	 */
	default void storeFailed(String store, OperationBlockedException error) {
	}

	/**
	 * The circuit breaker of a store has a new state; called with its first one too.
	 * @param store the name of the store
	 * @param state the state
	 */
	default void circuitChanged(String store, StoreCircuit.State state) {
	}

	/**
	 * A record had no usable idempotency key.
	 * @param listener the name of the listener
	 * @param policy what is done about it
	 */
	default void keyMissing(String listener, MissingKeyPolicy policy) {
	}

	/**
	 * Expired records have been deleted.
	 * @param table the name of the table
	 * @param deleted the number of records
	 */
	default void cleanedUp(String table, int deleted) {
	}

	/**
	 * A handler has run, and the store did not take its completion: that is repeated.
	 * @param listener the name of the listener
	 * @param key the key
	 */
	default void completionFailed(String listener, IdempotencyKey key) {
	}

	/**
	 * A completion that the store did not take at first has been settled.
	 * @param listener the name of the listener
	 * @param key the key
	 * @param settlement {@link Settlement#LOST} if somebody else has taken the key over
	 */
	default void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
	}

	/**
	 * Somebody has asked for a change by hand.
	 * @param intervention what was asked for
	 * @param done whether anything was changed
	 */
	default void intervened(Intervention intervention, boolean done) {
	}

	/**
	 * A run of the cleanup has ended, whatever it has deleted.
	 * @param table the name of the table
	 * @param duration how long it took
	 * @param backlogAge how long the oldest record that is left has been expired, zero if
	 * there is none
	 */
	default void cleanupEnded(String table, Duration duration, Duration backlogAge) {
	}

	/**
	 * The servers of a store have been asked whether they may evict records, that is
	 * forget them before their retention ends.
	 * @param store the name of the store
	 * @param possible whether at least one of them may
	 */
	default void evictionChecked(String store, boolean possible) {
	}

	/**
	 * The handling of one record.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param mode how the operation is protected
	 * @param key the key, {@code null} if the record has none
	 * @param outcome how it ended
	 * @param duration how long it took, the handler included
	 * @param attempt how often the operation has been started, this time included; 0 if
	 * the handler did not run under a claim, and for a record of a batch
	 */
	record Execution(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome, Duration duration,
			int attempt) {

		/**
		 * Of a handler that did not run under a claim.
		 * @param listener the name of the listener, from a bounded set
		 * @param mode how the operation is protected
		 * @param key the key, {@code null} if the record has none
		 * @param outcome how it ended
		 * @param duration how long it took, the handler included
		 */
		public Execution(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome, Duration duration) {
			this(listener, mode, key, outcome, duration, 0);
		}

	}

	/**
	 * How the handling of a record ended.
	 */
	enum Outcome {

		/**
		 * The handler ran and its completion is recorded.
		 */
		PROCESSED,

		/**
		 * The operation had completed before; the handler did not run.
		 */
		DUPLICATE,

		/**
		 * Somebody else runs the operation; the record comes again.
		 */
		IN_PROGRESS,

		/**
		 * The handler failed.
		 */
		FAILED,

		/**
		 * The record can never be processed as it is.
		 */
		REJECTED,

		/**
		 * The handler ran without protection.
		 */
		UNPROTECTED,

		/**
		 * The handler ran, but the key belongs to somebody else by now.
		 */
		LOST,

		/**
		 * The store did not answer; the record comes again.
		 */
		UNAVAILABLE,

		/**
		 * The store refused the call for a reason that concerns this record or the rights
		 * of the application; the record is redelivered.
		 */
		REFUSED,

		/**
		 * What the store keeps under the key is not a record of this library; the record
		 * comes again.
		 */
		UNREADABLE

	}

	/**
	 * What people do by hand.
	 */
	enum Intervention {

		/**
		 * A key is made claimable.
		 */
		RELEASE,

		/**
		 * A record is deleted.
		 */
		EVICT,

		/**
		 * A message of the outbox that was set aside is published all the same.
		 */
		RETRY,

		/**
		 * A message of the outbox that was set aside is deleted.
		 */
		DISCARD;

		/**
		 * Say what is done, for a log.
		 * @param what what it is done to
		 * @param who who asks for it, if that is known
		 * @return a part of a sentence, which is one line whatever the name is
		 */
		public String describe(String what, @Nullable String who) {
			return name().toLowerCase(Locale.ROOT) + " " + what + " by "
					+ ((who != null) ? "'" + who.replaceAll("\\p{Cntrl}", "?") + "'" : "somebody unknown");
		}

	}

	/**
	 * What a store is asked.
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
		 * A claim whose answer never came is given back.
		 */
		RELEASE,

		/**
		 * The leases of running handlers are renewed.
		 */
		RENEW,

		/**
		 * A key is looked up.
		 */
		FIND

	}

	/**
	 * How a call of the store ended.
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
