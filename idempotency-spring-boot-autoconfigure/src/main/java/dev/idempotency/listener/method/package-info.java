/**
 * Protects the call of a listener method or function for one delivery.
 */
@Internal
@NullMarked
package dev.idempotency.listener.method;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
