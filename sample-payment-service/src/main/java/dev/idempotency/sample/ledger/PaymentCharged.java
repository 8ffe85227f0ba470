package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * The event that an account has been debited for a payment. The entry numbers of an
 * account increase.
 */
public record PaymentCharged(UUID paymentId, String account, BigDecimal amount, BigDecimal balance, long entry) {

}
