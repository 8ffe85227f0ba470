/**
 * Protection of the functions that the Kafka binder of Spring Cloud Stream calls.
 */
@Internal
@NullMarked
package dev.idempotency.stream;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
