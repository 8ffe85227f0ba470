/**
 * The periodic cleanup of expired records and published messages.
 */
@NullMarked
package dev.idempotency.cleanup;

import org.jspecify.annotations.NullMarked;
