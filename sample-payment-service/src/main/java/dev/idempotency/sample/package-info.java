/**
 * A payment service that is told everything several times and charges once.
 */
@NullMarked
package dev.idempotency.sample;

import org.jspecify.annotations.NullMarked;
