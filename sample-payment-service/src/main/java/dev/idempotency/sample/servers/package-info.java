/**
 * Kafka inside this process, PostgreSQL and Redis beside it.
 */
@NullMarked
package dev.idempotency.sample.servers;

import org.jspecify.annotations.NullMarked;
