/**
 * The account statements, which are derived from the events of the ledger.
 */
@NullMarked
package dev.idempotency.sample.statement;

import org.jspecify.annotations.NullMarked;
