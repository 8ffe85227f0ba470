package dev.idempotency.listener;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;

/**
 * Finds what was thrown in what a container throws, which wraps it several times.
 */
final class Blocked {

	// Causes may form a ring.
	private static final int MAX_DEPTH = 50;

	private Blocked() {
	}

	static @Nullable OperationBlockedException in(@Nullable Throwable error) {
		return find(OperationBlockedException.class, error);
	}

	static <T extends Throwable> @Nullable T find(Class<T> type, @Nullable Throwable error) {
		Throwable cause = error;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++, cause = cause.getCause()) {
			if (type.isInstance(cause)) {
				return type.cast(cause);
			}
		}
		return null;
	}

}
