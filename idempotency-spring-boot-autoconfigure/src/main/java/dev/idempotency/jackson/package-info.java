/**
 * Serialization of results and fingerprints with Jackson.
 */
@Internal
@NullMarked
package dev.idempotency.jackson;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
