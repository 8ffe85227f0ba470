package dev.idempotency.template;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Settlement;

/**
 * An application event: what came of a completion that could not be recorded at first.
 *
 * @param listener the name of the listener, from a bounded set
 * @param key the key
 * @param settlement {@link Settlement#LOST} if somebody else has taken the key over, so
 * that the operation may take effect twice
 * @since 0.1.0
 */
public record CompletionSettledEvent(String listener, IdempotencyKey key, Settlement settlement) {

}
