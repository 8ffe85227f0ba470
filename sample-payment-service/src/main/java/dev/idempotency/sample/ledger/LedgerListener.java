package dev.idempotency.sample.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Charges each payment once, however often it is told. With the keys in PostgreSQL, key
 * and charge commit together: exactly once. With the keys in Redis the charge commits
 * first, under a lease: at least once, if the process dies between the two.
 */
@Component
class LedgerListener {

	private final Ledger ledger;

	LedgerListener(Ledger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "ledger")
	@Idempotent
	Receipt charge(PaymentCommand command) {
		return this.ledger.charge("ledger", command);
	}

}
