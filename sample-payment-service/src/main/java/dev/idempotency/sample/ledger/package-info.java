/**
 * The ledger, once behind a protected listener, which sends an event of each charge, and
 * once behind an unprotected one.
 */
@NullMarked
package dev.idempotency.sample.ledger;

import org.jspecify.annotations.NullMarked;
