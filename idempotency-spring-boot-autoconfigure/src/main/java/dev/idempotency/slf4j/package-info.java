/**
 * The diagnostic context of log lines.
 */
@NullMarked
package dev.idempotency.slf4j;

import org.jspecify.annotations.NullMarked;
