/**
 * Sets up the protection of listeners and containers at start-up, and checks what cannot
 * be protected.
 */
@Internal
@NullMarked
package dev.idempotency.listener.setup;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
