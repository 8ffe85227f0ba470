/**
 * What was requested, delivered, suppressed and charged.
 */
@NullMarked
package dev.idempotency.sample.summary;

import org.jspecify.annotations.NullMarked;
