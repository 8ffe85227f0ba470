package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * An event: the account has been debited for the payment. The entries of an account have
 * growing numbers.
 */
public record PaymentCharged(UUID paymentId, String account, BigDecimal amount, BigDecimal balance, long entry) {

}
