/**
 * The results of asynchronous listener methods, and the retries of those that fail.
 */
@Internal
@NullMarked
package dev.idempotency.listener.async;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
