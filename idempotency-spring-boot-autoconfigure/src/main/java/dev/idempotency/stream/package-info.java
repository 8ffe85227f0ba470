/**
 * Protection of the functions that the Kafka binder of Spring Cloud Stream calls.
 */
@NullMarked
package dev.idempotency.stream;

import org.jspecify.annotations.NullMarked;
