/**
 * Kafka and PostgreSQL inside this process.
 */
@NullMarked
package dev.idempotency.sample.servers;

import org.jspecify.annotations.NullMarked;
