/**
 * The mapped diagnostic context (MDC) of log lines.
 */
@NullMarked
package dev.idempotency.slf4j;

import org.jspecify.annotations.NullMarked;
