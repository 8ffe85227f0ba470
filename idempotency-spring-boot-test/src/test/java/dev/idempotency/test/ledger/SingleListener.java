package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * A listener with a single thread.
 */
@Component
class SingleListener {

	@KafkaListener(topics = "single", groupId = "single", concurrency = "1")
	@Idempotent
	void handle(Payment payment) {
	}

}
