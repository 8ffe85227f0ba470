package dev.idempotency.listener;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;

/**
 * Finds the blocked condition in what a container throws, which wraps it several times.
 */
final class Blocked {

	private Blocked() {
	}

	static @Nullable OperationBlockedException in(@Nullable Throwable error) {
		for (Throwable cause = error; cause != null; cause = (cause.getCause() != cause) ? cause.getCause() : null) {
			if (cause instanceof OperationBlockedException blocked) {
				return blocked;
			}
		}
		return null;
	}

}
