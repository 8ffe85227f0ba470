/**
 * Reconciliation, which compares the records of a topic with the store and changes
 * neither.
 */
@Internal
@NullMarked
package dev.idempotency.reconcile;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
