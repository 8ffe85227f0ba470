/**
 * A payment service that receives messages several times and charges each payment once.
 */
@NullMarked
package dev.idempotency.sample;

import org.jspecify.annotations.NullMarked;
