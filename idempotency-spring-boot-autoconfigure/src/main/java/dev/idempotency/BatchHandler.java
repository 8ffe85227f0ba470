package dev.idempotency;

import java.util.List;

import org.jspecify.annotations.Nullable;

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

}
