package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * The result of a charge.
 */
record Receipt(UUID paymentId, long entry, BigDecimal balance) {

}
