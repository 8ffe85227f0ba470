/**
 * Reads a range of the topics of a listener and resolves its records to their keys,
 * without running the listener.
 */
@Internal
@NullMarked
package dev.idempotency.listener.range;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
