/**
 * The producer's side: stamped keys, and messages of the outbox on their way to Kafka.
 */
@NullMarked
package dev.idempotency.producer;

import org.jspecify.annotations.NullMarked;
