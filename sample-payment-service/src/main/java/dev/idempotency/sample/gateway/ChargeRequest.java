package dev.idempotency.sample.gateway;

import java.math.BigDecimal;

/**
 * A request to the card gateway.
 */
record ChargeRequest(String account, BigDecimal amount) {

}
