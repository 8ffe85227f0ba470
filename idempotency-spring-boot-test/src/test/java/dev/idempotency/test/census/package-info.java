/**
 * An application whose listeners all declare whether they are protected.
 */
@NullMarked
package dev.idempotency.test.census;

import org.jspecify.annotations.NullMarked;
