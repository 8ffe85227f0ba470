/**
 * Reconciliation: compares the records of a topic with the store, without changing
 * either.
 */
@NullMarked
package dev.idempotency.reconcile;

import org.jspecify.annotations.NullMarked;
