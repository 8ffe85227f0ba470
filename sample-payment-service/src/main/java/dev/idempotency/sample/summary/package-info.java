/**
 * The figures of requested, delivered, suppressed and charged payments and of their
 * events.
 */
@NullMarked
package dev.idempotency.sample.summary;

import org.jspecify.annotations.NullMarked;
