/**
 * Payments in processes that are killed.
 */
@NullMarked
package dev.idempotency.storm;

import org.jspecify.annotations.NullMarked;
