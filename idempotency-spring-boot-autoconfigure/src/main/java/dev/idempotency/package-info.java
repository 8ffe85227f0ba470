/**
 * The idempotent consumer: annotation, key, claim, store contract and the protocol that
 * joins them.
 */
@NullMarked
package dev.idempotency;

import org.jspecify.annotations.NullMarked;
