/**
 * Meters of what happens to operations.
 */
@NullMarked
package dev.idempotency.micrometer;

import org.jspecify.annotations.NullMarked;
