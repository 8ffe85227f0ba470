package dev.idempotency.sample.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Charges each payment once, however often it is told. With the keys in PostgreSQL, key,
 * charge and event commit together: exactly once. With the keys in Redis charge and event
 * commit first, under a lease: at least once, if the process dies before the key is
 * completed. The event of the second charge has the idempotency key of the first and
 * another balance: its consumers do not apply it, and reject it with an error.
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
