/**
 * Delivers the records of a container to its listener: the delivery on the thread of the
 * consumer, its acknowledgments and the records that follow it.
 */
@Internal
@NullMarked
package dev.idempotency.listener.delivery;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
