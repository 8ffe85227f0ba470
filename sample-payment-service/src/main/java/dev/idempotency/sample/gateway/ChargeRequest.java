package dev.idempotency.sample.gateway;

import java.math.BigDecimal;

/**
 * What the card gateway is asked to charge.
 */
record ChargeRequest(String account, BigDecimal amount) {

}
