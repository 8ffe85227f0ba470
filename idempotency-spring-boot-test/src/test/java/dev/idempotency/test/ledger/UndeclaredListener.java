package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;

/**
 * A listener of which nobody has said whether it needs protection.
 */
public abstract class UndeclaredListener {

	@KafkaListener(topics = "undeclared", groupId = "group")
	void listen(String value) {
	}

}
