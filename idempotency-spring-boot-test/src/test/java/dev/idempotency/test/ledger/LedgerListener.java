package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * Charges each payment once.
 */
@Component
class LedgerListener {

	private final Ledger ledger;

	LedgerListener(Ledger ledger) {
		this.ledger = ledger;
	}

	@KafkaListener(topics = "payments", groupId = "ledger")
	@Idempotent
	void charge(Payment payment) {
		this.ledger.charge(payment);
	}

}
