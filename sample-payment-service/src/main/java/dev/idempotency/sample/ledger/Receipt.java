package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * What the ledger answers to a charge.
 */
record Receipt(UUID paymentId, long entry, BigDecimal balance) {

}
