package dev.idempotency.template;

import dev.idempotency.Internal;
import dev.idempotency.StalePolicy;

/**
 * The version of an operation: it is run only if its version is higher than the one of
 * its key that completed last.
 *
 * @param number the version
 * @param onStale the reaction if a higher version has completed
 * @since 0.1.0
 */
@Internal
public record OperationVersion(long number, StalePolicy onStale) {

}
