/**
 * Protection of Kafka listeners: interception of containers and methods, batches,
 * asynchronous results and acknowledgments.
 */
@Internal
@NullMarked
package dev.idempotency.listener;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
