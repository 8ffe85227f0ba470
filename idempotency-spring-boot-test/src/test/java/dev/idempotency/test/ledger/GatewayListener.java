package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * Charges the card of each payment.
 */
@Component
class GatewayListener {

	private final CardGateway gateway;

	GatewayListener(CardGateway gateway) {
		this.gateway = gateway;
	}

	@KafkaListener(topics = "card-payments", groupId = "gateway")
	@Idempotent(mode = Mode.LEASED)
	void charge(Payment payment) {
		this.gateway.charge(payment, IdempotentExecution.current().key());
	}

}
