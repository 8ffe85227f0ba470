/**
 * A store in the memory of one process, for tests.
 */
@Internal
@NullMarked
package dev.idempotency.memory;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
