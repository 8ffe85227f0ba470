/**
 * Actuator endpoints and the health indicator.
 */
@NullMarked
package dev.idempotency.actuate;

import org.jspecify.annotations.NullMarked;
