package dev.idempotency.template;

/**
 * Gets the completions of handlers that have returned while it is still open whether that
 * holds.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface Deferral {

	/**
	 * Whether the completion of the handler that has just returned on this thread has to
	 * wait. If not, it is recorded at once.
	 * @return whether {@link #defer} is to be called
	 */
	default boolean isNeeded() {
		return true;
	}

	/**
	 * Keep a completion until it is known whether it holds. Must not throw.
	 * @param pending the completion
	 */
	void defer(PendingCompletion pending);

}
