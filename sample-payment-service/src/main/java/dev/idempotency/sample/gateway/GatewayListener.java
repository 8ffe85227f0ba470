package dev.idempotency.sample.gateway;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Calls the card gateway once per payment, and passes the key on for the one window that
 * a lease leaves: a crash after the call. That is the same wherever the keys are kept.
 */
@Component
class GatewayListener {

	private final CardGatewayClient gateway;

	GatewayListener(CardGatewayClient gateway) {
		this.gateway = gateway;
	}

	@KafkaListener(topics = PaymentTopic.NAME, groupId = "gateway")
	@Idempotent(mode = Mode.LEASED, lease = "${sample.gateway.lease:30s}", fingerprint = "#payload")
	void charge(PaymentCommand command) {
		ChargeRequest request = new ChargeRequest(command.account(), command.amount());
		this.gateway.charge(IdempotentExecution.current().key(), request);
	}

}
