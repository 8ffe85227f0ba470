package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * One item of a batch.
 *
 * @param operation the operation, or {@code null} for an item that is handled without
 * protection
 * @param lane the sequence in which order is kept, such as a partition: an item is not
 * handled while an earlier item of the same lane is blocked
 * @since 0.1.0
 */
public record BatchItem(@Nullable IdempotentOperation operation, Object lane) {

}
