/**
 * Serialization of results and fingerprints with Jackson.
 */
@NullMarked
package dev.idempotency.jackson;

import org.jspecify.annotations.NullMarked;
