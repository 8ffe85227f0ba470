/**
 * Meters, observations and traces with Micrometer.
 */
@Internal
@NullMarked
package dev.idempotency.micrometer;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
