/**
 * The ledger with two listeners: a protected one, which sends an event for each charge,
 * and an unprotected one.
 */
@NullMarked
package dev.idempotency.sample.ledger;

import org.jspecify.annotations.NullMarked;
