/**
 * Kafka listeners: interception, key resolution, and the waiting that loses nothing.
 */
@NullMarked
package dev.idempotency.listener;

import org.jspecify.annotations.NullMarked;
