/**
 * The embedded servers: Kafka in this process, PostgreSQL and Redis in processes of their
 * own.
 */
@NullMarked
package dev.idempotency.sample.servers;

import org.jspecify.annotations.NullMarked;
