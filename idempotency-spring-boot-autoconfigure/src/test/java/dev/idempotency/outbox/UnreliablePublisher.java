package dev.idempotency.outbox;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.producer.KafkaOutboxPublisher;

/**
 * Kafka's, but for some topics.
 */
class UnreliablePublisher implements OutboxPublisher {

	private static final Duration SILENCE = Duration.ofSeconds(1);

	private final KafkaOutboxPublisher kafka;

	private volatile Predicate<String> failing = (topic) -> false;

	UnreliablePublisher(KafkaTemplate<?, ?> template) {
		this.kafka = new KafkaOutboxPublisher(template.getProducerFactory(), Duration.ofSeconds(10));
	}

	void fail(Predicate<String> topics) {
		this.failing = topics;
	}

	@Override
	public CompletionStage<?> publish(OutboxRow row) {
		if (!this.failing.test(row.topic())) {
			return this.kafka.publish(row);
		}
		return CompletableFuture.runAsync(() -> {
			throw new NotEnoughReplicasException("As the producer tells after a while");
		}, CompletableFuture.delayedExecutor(SILENCE.toMillis(), TimeUnit.MILLISECONDS, Runnable::run));
	}

	@Override
	public Failed meaning(Throwable error) {
		return this.kafka.meaning(error);
	}

}
