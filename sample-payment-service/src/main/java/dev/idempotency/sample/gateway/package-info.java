/**
 * The card gateway and the listener that calls it.
 */
@NullMarked
package dev.idempotency.sample.gateway;

import org.jspecify.annotations.NullMarked;
