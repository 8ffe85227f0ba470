/**
 * The embedded servers: Kafka in this process, PostgreSQL or MariaDB, and Redis, in
 * processes of their own.
 */
@NullMarked
package dev.idempotency.sample.servers;

import org.jspecify.annotations.NullMarked;
