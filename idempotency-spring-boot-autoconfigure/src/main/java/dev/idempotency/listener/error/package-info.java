/**
 * Error handling of idempotent listeners: blocked records, paused partitions and Kafka
 * transactions.
 */
@Internal
@NullMarked
package dev.idempotency.listener.error;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
