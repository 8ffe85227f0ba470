package dev.idempotency.sample.summary;

import java.math.BigDecimal;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * What was asked for, and what each consumer group made of it. Deliveries and suppressed
 * duplicates count from the start of the service, everything else from the beginning.
 */
record Summary(long paymentsRequested, long messagesSent, BigDecimal amountRequested,
		@JsonProperty("protected") ProtectedLedger protectedLedger,
		@JsonProperty("unprotected") UnprotectedLedger unprotectedLedger, Gateway gateway) {

	record ProtectedLedger(long deliveries, long charges, long suppressed, BigDecimal amountCharged) {

	}

	record UnprotectedLedger(long deliveries, long charges, BigDecimal amountCharged) {

	}

	record Gateway(long deliveries, long calls, long charges, long suppressed) {

	}

}
