package dev.idempotency.outbox;

import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.Producer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.kafka.autoconfigure.DefaultKafkaProducerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.test.Kafka;
import dev.idempotency.test.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for messages that fail because another message of their producer batch is
 * refused.
 */
class BatchNeighbourTests {

	private static final int NEIGHBOURS = 200;

	// One partition of a compacted topic, which refuses messages without a key.
	private static String compactedTopic() {
		String topic = Servers.unique("compacted-");
		Servers.addTopics(new NewTopic(topic, 1, (short) 1).configs(Map.of("cleanup.policy", "compact")));
		return topic;
	}

	private static OutboxMessage message(String topic, int number) {
		boolean valid = number != NEIGHBOURS / 2;
		return OutboxMessage.to(topic)
			.key(valid ? "k" + number : null)
			.payload("x")
			.idempotencyKey(valid ? "valid" : "invalid")
			.build();
	}

	@Test
	void neighboursOfARefusedMessageAreSentAgainByTheSameProducer() {
		String topic = compactedTopic();
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.max-attempts", 2),
				Producers.class)) {
			app.inTransaction(() -> app.outbox()
				.send(IntStream.rangeClosed(0, NEIGHBOURS).mapToObj((number) -> message(topic, number)).toList()));
			// The invalid message is attempted twice.
			Awaitility.await().until(() -> app.events().size() >= NEIGHBOURS + 2);
			assertThat(Set.copyOf(app.events())).containsExactlyInAnyOrder("REFUSED invalid", "PUBLISHED valid",
					"DEAD_LETTER invalid");
			assertThat(Kafka.read(topic)).hasSize(NEIGHBOURS);
			assertThat(app.context().getBean(Producers.class).relays()).hasSize(1);
		}
	}

	/**
	 * Producers with batches.
	 */
	static class Producers {

		private static final Queue<String> ADDED = new ConcurrentLinkedQueue<>();

		Queue<String> relays() {
			return ADDED;
		}

		@Bean
		static DefaultKafkaProducerFactoryCustomizer listening() {
			return (factory) -> listen(factory);
		}

		private static <K, V> void listen(DefaultKafkaProducerFactory<K, V> factory) {
			factory.addListener(new ProducerFactory.Listener<>() {

				@Override
				public void producerAdded(String id, Producer<K, V> producer) {
					ADDED.add(id);
				}

			});
		}

	}

}
