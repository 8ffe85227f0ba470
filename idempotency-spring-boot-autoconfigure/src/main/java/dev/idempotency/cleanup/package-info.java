/**
 * The periodic cleanup of expired records and published messages.
 */
@Internal
@NullMarked
package dev.idempotency.cleanup;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
