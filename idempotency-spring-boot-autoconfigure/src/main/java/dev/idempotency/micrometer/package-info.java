/**
 * Meters, observations and traces with Micrometer.
 */
@NullMarked
package dev.idempotency.micrometer;

import org.jspecify.annotations.NullMarked;
