package dev.idempotency.listener.error;

import org.jspecify.annotations.Nullable;

/**
 * Finds an exception by its type among the nested causes of another one.
 */
final class ExceptionCauses {

	// Causes may form a cycle.
	private static final int MAX_DEPTH = 50;

	private ExceptionCauses() {
	}

	/**
	 * Return the first exception of the given type.
	 */
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
