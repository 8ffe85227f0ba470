/**
 * Protection of Kafka listeners: interception of containers and methods, batches,
 * asynchronous results and acknowledgments.
 */
@NullMarked
package dev.idempotency.listener;

import org.jspecify.annotations.NullMarked;
