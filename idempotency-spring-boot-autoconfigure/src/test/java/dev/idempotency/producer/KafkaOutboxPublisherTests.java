package dev.idempotency.producer;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.ABSwitchCluster;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;

import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.test.Kafka;
import dev.idempotency.test.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link KafkaOutboxPublisher}.
 */
class KafkaOutboxPublisherTests {

	private static final Duration SEND_TIMEOUT = Duration.ofSeconds(8);

	// No broker listens on this port.
	private static final String NOWHERE = "localhost:1";

	private final String topic = Servers.newTopic("publisher", 1);

	private final DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(
			Map.of("bootstrap.servers", NOWHERE), new StringSerializer(), new StringSerializer());

	@AfterEach
	void close() {
		this.factory.destroy();
	}

	private OutboxRow row(String value) {
		return new OutboxRow(UUID.randomUUID(), this.topic, null, value.getBytes(), List.of(), "key", "type", "id",
				"type");
	}

	@Test
	void messagesAreSentToTheNewClusterAfterASwitch() {
		ABSwitchCluster cluster = new ABSwitchCluster(Servers.kafka().getBrokersAsString(), NOWHERE);
		this.factory.setBootstrapServersSupplier(cluster);
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
		assertThat(publisher.publish(row("first"))).succeedsWithin(SEND_TIMEOUT);
		cluster.secondary();
		assertThat(publisher.publish(row("nowhere"))).failsWithin(SEND_TIMEOUT)
			.withThrowableThat()
			.withCauseInstanceOf(TimeoutException.class);
		cluster.primary();
		assertThat(publisher.publish(row("second"))).succeedsWithin(SEND_TIMEOUT);
		assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).containsExactly("first", "second");
		publisher.destroy();
	}

}
