package dev.idempotency.listener;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.clients.consumer.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.annotation.TopicPartition;
import org.springframework.kafka.config.ContainerPostProcessor;
import org.springframework.kafka.listener.AbstractConsumerSeekAware;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OffsetChoice}: listeners whose offsets cannot be compared.
 */
@Tag("promise-12")
class OffsetStartupTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					Async       | its method is asynchronous, so that a later record may complete first.
					Leased      | it uses leased mode, and only a database transaction stores the offset together with the effect.
					Returning   | its method returns a value, which is not stored for each record.
					Batch       | its method returns a value, which is not stored for each record.
					Retried     | it has a retry topic, whose records are processed after later ones.
					Dead        | its method handles dead letters, which may be sent again in another order.
					AsyncAcks   | its container has 'asyncAcks', which acknowledges records in any order.
					Fingerprint | its @Idempotent sets 'fingerprint', which needs keys.
					Shared      | its scope 'shared' is also that of a listener of another consumer group""")
	void listenerWhoseOffsetsCannotBeComparedIsRefused(String listener, String reason) throws Exception {
		Class<?> type = Class.forName(OffsetStartupTests.class.getName() + "$" + listener);
		FailureAnalysis analysis = ListenerStartupTests.refusal(this.runner, type);
		assertThat(analysis.getDescription()).contains("OffsetStartupTests." + listener + ".",
				"is to recognize its records by their offsets, but " + reason);
		assertThat(analysis.getAction()).isNotEmpty();
	}

	@ParameterizedTest
	@ValueSource(classes = { DefaultReturning.class, DefaultRetried.class, DefaultSeeking.class, DefaultAssigned.class,
			DefaultConsumer.class, DefaultShared.class })
	void listenerThatMayUseRowsStarts(Class<?> listener) {
		this.runner.withUserConfiguration(listener).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void policyOfAllListenersIsRefusedIfOneCannotCompareOffsets() {
		FailureAnalysis analysis = ListenerStartupTests
			.refusal(this.runner.withPropertyValues("idempotency.key.on-missing=offset"), DefaultReturning.class);
		assertThat(analysis.getDescription()).contains("DefaultReturning.listen is to recognize");
	}

	static class Plain {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Async {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Leased {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, mode = Mode.LEASED)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Returning {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group")
		String listen(String value) {
			return value;
		}

	}

	static class Batch {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		List<String> listen(List<String> values) {
			return values;
		}

	}

	static class Retried {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Dead {

		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@DltHandler
		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		void dead(String value) {
		}

	}

	static class AsyncAcks {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group", containerPostProcessor = "asyncAcks")
		void listen(String value, Acknowledgment acknowledgment) {
		}

		@Bean
		static ContainerPostProcessor<String, String, ConcurrentMessageListenerContainer<String, String>> asyncAcks() {
			return (container) -> {
				container.getContainerProperties().setAckMode(AckMode.MANUAL);
				container.getContainerProperties().setAsyncAcks(true);
			};
		}

	}

	static class Fingerprint {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, fingerprint = "#payload")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Shared {

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "shared")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "shared")
		@KafkaListener(topics = "topic", groupId = "other")
		void other(String value) {
		}

	}

	static class DefaultReturning {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		String listen(String value) {
			return value;
		}

	}

	static class DefaultRetried {

		@Idempotent
		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class DefaultSeeking extends AbstractConsumerSeekAware {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class DefaultAssigned {

		@Idempotent
		@KafkaListener(groupId = "group", topicPartitions = @TopicPartition(topic = "topic", partitions = "0"))
		void listen(String value) {
		}

	}

	static class DefaultConsumer {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value, Consumer<?, ?> consumer) {
		}

	}

	static class DefaultShared {

		@Idempotent(scope = "shared")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@Idempotent(scope = "shared")
		@KafkaListener(topics = "topic", groupId = "other")
		void other(String value) {
		}

	}

}
