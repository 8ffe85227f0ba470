/**
 * The values of the consumers of a container.
 */
@Internal
@NullMarked
package dev.idempotency.listener.consumer;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
