/**
 * The circuit breaker around the store, by Resilience4j.
 */
@NullMarked
package dev.idempotency.resilience4j;

import org.jspecify.annotations.NullMarked;
