package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * The command to debit an account once for a payment.
 */
public record PaymentCommand(UUID paymentId, String account, BigDecimal amount) {

}
