/**
 * The ledger, once behind a protected listener and once behind an unprotected one.
 */
@NullMarked
package dev.idempotency.sample.ledger;

import org.jspecify.annotations.NullMarked;
