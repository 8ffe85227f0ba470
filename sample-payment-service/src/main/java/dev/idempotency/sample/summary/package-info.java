/**
 * What was requested, delivered, suppressed, charged and told further.
 */
@NullMarked
package dev.idempotency.sample.summary;

import org.jspecify.annotations.NullMarked;
