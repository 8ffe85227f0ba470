/**
 * The move of keys and marks of processed offsets from one store to another.
 */
@Internal
@NullMarked
package dev.idempotency.migration;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
