package dev.idempotency.listener;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;

/**
 * Finds the blocked condition in what a container throws, which wraps it several times.
 */
final class Blocked {

	// Causes may form a ring.
	static final int MAX_DEPTH = 50;

	private Blocked() {
	}

	static @Nullable OperationBlockedException in(@Nullable Throwable error) {
		Throwable cause = error;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++, cause = cause.getCause()) {
			if (cause instanceof OperationBlockedException blocked) {
				return blocked;
			}
		}
		return null;
	}

}
