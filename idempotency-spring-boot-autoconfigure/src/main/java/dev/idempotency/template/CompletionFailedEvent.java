package dev.idempotency.template;

import dev.idempotency.IdempotencyKey;

/**
 * An application event: a handler has run, and its completion could not be recorded. That
 * is repeated until it is, or this process ends: then the handler runs once more.
 *
 * @param listener the name of the listener, from a bounded set
 * @param key the key
 * @since 0.1.0
 */
public record CompletionFailedEvent(String listener, IdempotencyKey key) {

}
