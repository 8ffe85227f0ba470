package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * The result of an operation.
 *
 * @param result the value that the handler returned in this or in the first execution
 * @param duplicate whether the operation had completed before, so that the handler did
 * not run
 * @param refusal the reason for which the operation was refused for good, and then the
 * result is the body of the refusal; {@code null} unless it is the result of an item of a
 * batch
 * @param <T> the type of the result
 * @since 0.1.0
 */
public record IdempotentResult<T>(@Nullable T result, boolean duplicate, @Nullable String refusal) {

	/**
	 * Create the result of an operation that was not refused.
	 * @param result the value that the handler returned in this or in the first execution
	 * @param duplicate whether the operation had completed before
	 */
	public IdempotentResult(@Nullable T result, boolean duplicate) {
		this(result, duplicate, null);
	}

}
