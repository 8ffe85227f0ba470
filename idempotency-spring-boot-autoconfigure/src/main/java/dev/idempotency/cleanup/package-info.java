/**
 * Deletes what may be forgotten.
 */
@NullMarked
package dev.idempotency.cleanup;

import org.jspecify.annotations.NullMarked;
