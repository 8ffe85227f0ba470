/**
 * The producer side: idempotency keys of records, and the Kafka producer of the outbox.
 */
@NullMarked
package dev.idempotency.producer;

import org.jspecify.annotations.NullMarked;
