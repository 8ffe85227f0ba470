package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

/**
 * One part of a batch.
 *
 * @param operation the operation, {@code null} for a part that is handled without
 * protection
 * @param lane what has to stay in order: a part is not handled while an earlier one of
 * the same lane has to wait
 * @since 0.1.0
 */
public record BatchItem(@Nullable IdempotentOperation operation, Object lane) {

}
