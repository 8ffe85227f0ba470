package dev.idempotency.template;

import java.time.Duration;

import dev.idempotency.IdempotencyKey;

/**
 * A handler has run, and the store did not take its completion yet.
 *
 * @param listener the name of the listener, from a bounded set
 * @param key the key
 * @param age how long ago that was
 * @since 0.1.0
 */
public record UnrecordedCompletion(String listener, IdempotencyKey key, Duration age) {

}
