package dev.idempotency;

import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Binds executions to the thread on which their handler runs. The template calls it
 * around each handler. An application needs it only to test a handler that calls
 * {@link IdempotentExecution#current()}, or to bind an execution to another thread.
 *
 * @since 0.1.0
 */
public final class IdempotentExecutionHolder {

	private static final ThreadLocal<@Nullable List<@Nullable IdempotentExecution>> CURRENT = new ThreadLocal<>();

	private IdempotentExecutionHolder() {
	}

	static @Nullable List<@Nullable IdempotentExecution> get() {
		return CURRENT.get();
	}

	/**
	 * Bind executions to this thread.
	 * @param executions one execution, or one for each record of a batch with
	 * {@code null} for a record that is processed without protection; {@code null} to
	 * bind none
	 * @return the executions that were bound before, which the caller must bind again
	 * afterwards
	 */
	public static @Nullable List<@Nullable IdempotentExecution> bind(
			@Nullable List<@Nullable IdempotentExecution> executions) {
		List<@Nullable IdempotentExecution> previous = CURRENT.get();
		// Removing the value would allocate a new map entry for each record.
		CURRENT.set(executions);
		return previous;
	}

}
