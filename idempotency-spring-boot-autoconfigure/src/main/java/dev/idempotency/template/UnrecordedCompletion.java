package dev.idempotency.template;

import java.time.Duration;

import dev.idempotency.IdempotencyKey;

/**
 * The completion of a handler that has run, which is still to be recorded by the store.
 *
 * @param listener the name of the listener, from a bounded set
 * @param key the key
 * @param age the time since the handler returned
 * @since 0.1.0
 */
public record UnrecordedCompletion(String listener, IdempotencyKey key, Duration age) {

}
