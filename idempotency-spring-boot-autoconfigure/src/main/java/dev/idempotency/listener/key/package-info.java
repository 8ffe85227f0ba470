/**
 * Resolves a Kafka record to the idempotent operation that it requests: its scope, its
 * key and its fingerprint.
 */
@Internal
@NullMarked
package dev.idempotency.listener.key;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
