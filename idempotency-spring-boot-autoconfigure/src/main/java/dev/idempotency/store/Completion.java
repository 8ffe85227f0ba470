package dev.idempotency.store;

import org.jspecify.annotations.Nullable;

/**
 * The completion of an operation of a batch.
 *
 * @param claim the request that acquired the key
 * @param result the result to replay, {@code null} for none
 * @since 0.1.0
 */
public record Completion(ClaimRequest claim, byte @Nullable [] result) {

}
