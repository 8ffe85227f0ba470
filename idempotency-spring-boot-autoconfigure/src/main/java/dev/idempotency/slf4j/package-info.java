/**
 * The mapped diagnostic context (MDC) of log lines.
 */
@Internal
@NullMarked
package dev.idempotency.slf4j;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
