/**
 * A store in the memory of one process, for tests.
 */
@NullMarked
package dev.idempotency.memory;

import org.jspecify.annotations.NullMarked;
