package dev.idempotency.outbox;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.producer.KafkaOutboxPublisher;
import dev.idempotency.test.Kafka;
import dev.idempotency.test.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a topic for which the broker has not enough replicas, while it takes messages
 * for others.
 */
class TroubledTopicTests {

	private static final int MESSAGES = 400;

	// Many rounds, whose oldest messages are those of the topic in trouble.
	private static final int TROUBLED = 4000;

	private static final int PATIENCE = 60;

	private final String healthy = Servers.newTopic("healthy", 1);

	private final String troubled = Servers.newTopic("troubled", 1);

	private void send(OutboxApp app, String topic, int messages) {
		app.inTransaction(() -> app.outbox()
			.send(IntStream.range(0, messages)
				.mapToObj((i) -> OutboxMessage.to(topic).key("k" + i).payload("x").build())
				.toList()));
	}

	@Test
	void itHoldsUpNoOtherAndItsMessagesComeWhenItIsWell() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.batch-size", 50)
			.with("idempotency.outbox.max-back-off", "2s")
			.with("idempotency.outbox.max-attempts", 1), Publisher.class)) {
			Publisher publisher = app.context().getBean(Publisher.class);
			publisher.troubled = this.troubled;
			send(app, this.troubled, TROUBLED);
			send(app, this.healthy, MESSAGES);
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(Kafka.read(this.healthy).size()).isEqualTo(MESSAGES));
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isEqualTo(TROUBLED));
			assertThat(app.store().status().setAside()).as("no refusals").isZero();
			publisher.troubled = "";
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			assertThat(Kafka.read(this.troubled)).hasSize(TROUBLED);
		}
	}

	/**
	 * Kafka's, but for one topic.
	 */
	static class Publisher implements OutboxPublisher {

		private static final Duration SILENCE = Duration.ofSeconds(1);

		private final KafkaOutboxPublisher kafka;

		private volatile String troubled = "";

		Publisher(KafkaTemplate<?, ?> template) {
			this.kafka = new KafkaOutboxPublisher(template.getProducerFactory(), Duration.ofSeconds(10));
		}

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			if (!row.topic().equals(this.troubled)) {
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

}
