/**
 * Results and fingerprints as JSON.
 */
@NullMarked
package dev.idempotency.jackson;

import org.jspecify.annotations.NullMarked;
