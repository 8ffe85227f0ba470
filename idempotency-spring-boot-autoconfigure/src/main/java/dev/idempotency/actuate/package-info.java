/**
 * Actuator endpoints and the health indicator.
 */
@Internal
@NullMarked
package dev.idempotency.actuate;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
