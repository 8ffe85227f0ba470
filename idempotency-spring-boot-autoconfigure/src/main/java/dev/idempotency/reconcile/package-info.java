/**
 * Reconciliation, which compares the records of a topic with the store and changes
 * neither.
 */
@NullMarked
package dev.idempotency.reconcile;

import org.jspecify.annotations.NullMarked;
