package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * What came of an operation.
 *
 * @param result what the handler returned, now or the first time
 * @param duplicate whether the operation had completed before, so that the handler did
 * not run
 * @param <T> the type of the result
 * @since 0.1.0
 */
public record Executed<T>(@Nullable T result, boolean duplicate) {

}
