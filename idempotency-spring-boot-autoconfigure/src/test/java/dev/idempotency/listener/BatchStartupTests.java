package dev.idempotency.listener;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Headers;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerChecks}: a batch listener whose batch cannot be split does not
 * start.
 */
@Tag("promise-12")
class BatchStartupTests {

	private static final String PARAMETERS = "Use List parameters (also for headers), ConsumerRecords, "
			+ "Acknowledgment and Consumer.";

	private static final String RESULT = "Return a List with one element for each record, or nothing.";

	private final ApplicationContextRunner runner = Contexts.all();

	@ParameterizedTest
	@ValueSource(classes = { OneMessage.class, AllHeaders.class, HeadersOfMessage.class, AnyCollection.class,
			Array.class, OneRecord.class })
	void parameterThatIsNotAListIsRefused(Class<?> listener) {
		Class<?> type = listener.getDeclaredMethods()[0].getParameterTypes()[0];
		assertRefused(listener, "it is a batch listener with a parameter of type " + type.getSimpleName()
				+ ", from which single records cannot be removed", PARAMETERS);
	}

	@Test
	void methodWithoutRecordParameterIsRefused() {
		assertRefused(NoRecords.class, "its container delivers batches, but the method accepts single records",
				"Set 'batch' of @KafkaListener to \"false\", or declare a List parameter.");
	}

	@Test
	void resultForTheWholeBatchIsRefused() {
		assertRefused(OneResult.class, "it is a batch listener that returns a String, which cannot be split by record",
				RESULT);
	}

	@Test
	void futureIsRefused() {
		assertRefused(OneFuture.class,
				"it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when it fails",
				"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
	}

	@Test
	void messagesAreRefused() {
		assertRefused(Messages.class, "it returns a Message, whose headers belong to the first delivery only",
				"Return the payload; the reply gets the current correlation id by itself.");
	}

	@Test
	void customBatchFilterIsRefused() {
		assertRefused(OwnFilter.class,
				"the RecordFilterStrategy of its container overrides filterBatch, so the remaining records cannot be "
						+ "identified",
				"Do not override filterBatch, or filter in 'condition' of @Idempotent.");
	}

	@Test
	void customRecordFilterStarts() {
		this.runner.withUserConfiguration(OwnFilterOfRecords.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void methodWhoseParametersCanBeSplitStarts() {
		this.runner.withUserConfiguration(Allowed.class, Poll.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	private void assertRefused(Class<?> listener, String problem, String action) {
		FailureAnalysis analysis = ListenerStartupTests.refusal(this.runner, listener);
		assertThat(analysis.getDescription()).isEqualTo("The idempotent listener BatchStartupTests."
				+ listener.getSimpleName() + ".listen cannot be protected: " + problem + ".");
		assertThat(analysis.getAction()).isEqualTo(action);
	}

	static class OneMessage {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(Message<List<String>> message) {
		}

	}

	static class AllHeaders {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(@Headers Map<String, Object> headers, List<String> values) {
		}

	}

	static class HeadersOfMessage {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(MessageHeaders headers, List<String> values) {
		}

	}

	static class AnyCollection {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(Collection<String> values) {
		}

	}

	static class Array {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(String[] values) {
		}

	}

	static class OneRecord {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(ConsumerRecord<String, String> record) {
		}

	}

	static class NoRecords {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(Acknowledgment acknowledgment) {
		}

	}

	static class OneResult {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		String listen(List<String> values) {
			return "";
		}

	}

	static class OneFuture {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		CompletableFuture<Void> listen(List<String> values) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Messages {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		List<Message<?>> listen(List<Message<String>> messages) {
			return List.copyOf(messages);
		}

	}

	static class Filter {

		@Bean
		static RecordFilterStrategy<Object, Object> filter() {
			return new RecordFilterStrategy<>() {

				@Override
				public boolean filter(ConsumerRecord<Object, Object> record) {
					return false;
				}

				@Override
				public List<ConsumerRecord<Object, Object>> filterBatch(List<ConsumerRecord<Object, Object>> records) {
					return List.copyOf(records);
				}

			};
		}

	}

	static class OwnFilter extends Filter {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(List<String> values) {
		}

	}

	static class OwnFilterOfRecords extends Filter {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Allowed {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		List<String> listen(List<String> values, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			return values;
		}

	}

	static class Poll {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(ConsumerRecords<String, String> records) {
		}

	}

}
