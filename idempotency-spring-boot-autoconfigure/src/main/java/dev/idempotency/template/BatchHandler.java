package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.store.Claim;

/**
 * What is done for the parts of a batch that are due.
 *
 * @param <T> the type of the result of a part
 * @since 0.1.0
 */
public interface BatchHandler<T> {

	/**
	 * Handle parts. {@link IdempotentExecution#currentBatch()} has their executions.
	 * @param due the indexes of the parts, in the order of the batch
	 * @return a result for each of them, {@code null} if there are none
	 * @throws Throwable when it fails
	 */
	@Nullable List<@Nullable T> handle(List<Integer> due) throws Throwable;

	/**
	 * Say how far a handler came that failed.
	 * @param error what it threw
	 * @return the position, among those that were due, of the part that failed, if
	 * everything before it has been done; -1 if nobody knows
	 */
	default int failedAt(Throwable error) {
		return -1;
	}

	/**
	 * Say whether a transaction of the caller commits although the handler failed.
	 * @param error what it threw
	 * @return whether what was done before the part that failed holds
	 */
	default boolean isCommitted(Throwable error) {
		return false;
	}

	/**
	 * Look up a part whose operation has run before, and whose completion waits with that
	 * of a part which {@link #defer} got. Asked in {@link Mode#LEASED}, before the keys
	 * are claimed.
	 * @param part the index of the part
	 * @param operation its operation
	 * @return the answer of that operation, {@code null} if there is none
	 */
	default Claim.@Nullable Completed known(int part, IdempotentOperation operation) {
		return null;
	}

	/**
	 * Say how many parts are completed now that the handler has returned. The completions
	 * of those behind them wait. Asked in {@link Mode#LEASED}, without a transaction of
	 * the caller.
	 * @param count how many parts the handler got
	 * @return how many of them, from the first, are completed at once
	 */
	default int completed(int count) {
		return count;
	}

	/**
	 * Keep completions until it is known whether they hold. Must not throw.
	 * @param parts the indexes of the parts
	 * @param pending the completion of each
	 */
	default void defer(List<Integer> parts, List<? extends PendingCompletion> pending) {
		pending.forEach(PendingCompletion::complete);
	}

}
