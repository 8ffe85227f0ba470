/**
 * Resolves a Kafka record to the idempotent operation that it requests: its scope, its
 * key and its fingerprint.
 */
@NullMarked
package dev.idempotency.listener.key;

import org.jspecify.annotations.NullMarked;
