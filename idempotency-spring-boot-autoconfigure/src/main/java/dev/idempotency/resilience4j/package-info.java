/**
 * The circuit breaker of the store, on Resilience4j.
 */
@Internal
@NullMarked
package dev.idempotency.resilience4j;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
