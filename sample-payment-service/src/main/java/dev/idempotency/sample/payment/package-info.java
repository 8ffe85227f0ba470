/**
 * Payments: taking them, storing them, sending them to Kafka.
 */
@NullMarked
package dev.idempotency.sample.payment;

import org.jspecify.annotations.NullMarked;
