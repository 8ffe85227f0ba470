/**
 * Idempotent functions of Spring Cloud Stream that read Kafka.
 */
@NullMarked
package dev.idempotency.stream;

import org.jspecify.annotations.NullMarked;
