/**
 * The statements of the accounts, which follow the events of the ledger.
 */
@NullMarked
package dev.idempotency.sample.statement;

import org.jspecify.annotations.NullMarked;
