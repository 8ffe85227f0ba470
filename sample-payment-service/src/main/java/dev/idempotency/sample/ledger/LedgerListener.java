package dev.idempotency.sample.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Charges each payment once, even if its message is delivered several times. With the
 * PostgreSQL store, the key, the charge and the event commit together, so a payment is
 * charged exactly once. With the Redis store, the charge and the event commit first,
 * under a lease. If the process then crashes before the key is completed, the payment is
 * charged again. The second event has the idempotency key of the first but another
 * balance, so its consumers reject it with an error.
 */
@Component
class LedgerListener {

	private final PublishingLedger ledger;

	LedgerListener(PublishingLedger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "ledger")
	@Idempotent
	Receipt charge(PaymentCommand command) {
		return this.ledger.charge(command);
	}

}
