package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * The result of an operation.
 *
 * @param result the value that the handler returned in this or in the first execution
 * @param duplicate whether the operation had completed before, so that the handler did
 * not run
 * @param <T> the type of the result
 * @since 0.1.0
 */
public record IdempotentResult<T>(@Nullable T result, boolean duplicate) {

}
