package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * The code that an {@link IdempotencyTemplate} runs once per key.
 *
 * @param <T> the type of the result
 * @param <E> the type of the exception that the handler throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface OperationHandler<T, E extends Throwable> {

	/**
	 * Process the operation.
	 * @return the result, or {@code null}
	 * @throws E if the operation fails
	 */
	@Nullable T handle() throws E;

}
