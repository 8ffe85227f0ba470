package dev.idempotency.listener.error;

import java.util.Map;
import java.util.Objects;

import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PauseRequests}, on the container of a consumer that does not run.
 */
@Tag("promise-13")
class PauseRequestsTests {

	private static final TopicPartition PARTITION = new TopicPartition("payments", 0);

	private final KafkaMessageListenerContainer<Object, Object> consumer = new KafkaMessageListenerContainer<>(
			new DefaultKafkaConsumerFactory<>(Map.of()), new ContainerProperties("payments"));

	private PauseRequests requests;

	@BeforeEach
	void replace() {
		this.requests = Objects.requireNonNull(PauseRequests.of(this.consumer));
	}

	@Test
	void partitionIsPausedWhileEitherAsksForIt() {
		assertThat(this.requests.block(PARTITION)).isTrue();
		this.consumer.pausePartition(PARTITION);
		this.requests.unblock(PARTITION);
		assertThat(this.consumer.isPartitionPauseRequested(PARTITION)).isTrue();
		this.consumer.resumePartition(PARTITION);
		assertThat(this.consumer.isPartitionPauseRequested(PARTITION)).isFalse();
	}

	@Test
	void blockIsNotEndedByTheApplication() {
		this.requests.block(PARTITION);
		assertThat(this.requests.block(PARTITION)).isFalse();
		this.consumer.resumePartition(PARTITION);
		assertThat(this.consumer.isPartitionPauseRequested(PARTITION)).isTrue();
		assertThat(this.requests).containsExactly(PARTITION);
	}

	@Test
	void requestsOfAConsumerAreReplacedOnceAndKept() {
		this.consumer.pausePartition(PARTITION);
		assertThat(PauseRequests.of(this.consumer)).isSameAs(this.requests);
		assertThat(this.requests).containsExactly(PARTITION);
		assertThat(this.consumer.isPartitionPauseRequested(PARTITION)).isTrue();
	}

}
