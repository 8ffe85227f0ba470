package dev.idempotency.test.ledger;

import java.math.BigDecimal;

/**
 * The request to charge an account.
 *
 * @param id the id of the payment
 * @param account the account
 * @param amount the amount
 */
record Payment(String id, String account, BigDecimal amount) {

}
