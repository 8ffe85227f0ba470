/**
 * An application with retry topics and Redis, for tests of the slice.
 */
package dev.idempotency.test.orders;
