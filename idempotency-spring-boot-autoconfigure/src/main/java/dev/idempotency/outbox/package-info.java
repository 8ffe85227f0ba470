/**
 * The transactional outbox: messages that are published if, and only if, the transaction
 * of their sender commits.
 */
@NullMarked
package dev.idempotency.outbox;

import org.jspecify.annotations.NullMarked;
