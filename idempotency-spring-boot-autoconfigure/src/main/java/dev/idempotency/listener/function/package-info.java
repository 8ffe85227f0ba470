/**
 * Finds and advises the function beans that are idempotent.
 */
@Internal
@NullMarked
package dev.idempotency.listener.function;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
