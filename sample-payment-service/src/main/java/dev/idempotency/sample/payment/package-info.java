/**
 * Accepts payments, stores them and sends them to Kafka.
 */
@NullMarked
package dev.idempotency.sample.payment;

import org.jspecify.annotations.NullMarked;
