package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * What a message asks for: debit the account with the amount, once per payment.
 */
public record PaymentCommand(UUID paymentId, String account, BigDecimal amount) {

}
