/**
 * What operators look at.
 */
@NullMarked
package dev.idempotency.actuate;

import org.jspecify.annotations.NullMarked;
