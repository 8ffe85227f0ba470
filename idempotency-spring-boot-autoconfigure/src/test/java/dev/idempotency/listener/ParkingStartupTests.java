package dev.idempotency.listener;

import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.clients.consumer.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.annotation.TopicPartition;
import org.springframework.kafka.listener.CommonContainerStoppingErrorHandler;
import org.springframework.kafka.listener.CommonDelegatingErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.By;
import dev.idempotency.Idempotent;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.ParkedPartition;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for listeners that cannot park blocked records.
 */
@Tag("promise-12")
class ParkingStartupTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					Batch      | it receives batches.
					Async      | its method is asynchronous.
					Reading    | its method has a parameter of the type Consumer
					Retried    | its container comes from a factory that does not tell its consumer factory, as that of a retry topic.
					Assigned   | its partitions are assigned by hand
					Stopping   | the error handler of its container does not implement 'handleOne'
					Delegating | the error handler of its container delegates to others
					Policies   | not all methods of its class do so
					Scopes     | the methods of its class have different scopes or stores""")
	void listenerThatCannotParkIsRefused(String listener, String reason) throws Exception {
		FailureAnalysis analysis = ListenerStartupTests.refusal(this.runner,
				Class.forName(ParkingStartupTests.class.getName() + "$" + listener));
		assertThat(analysis.getDescription()).contains("ParkingStartupTests." + listener + ".",
				"is to park blocked records, but " + reason);
		assertThat(analysis.getAction()).contains("PAUSE");
	}

	@Test
	void listenerThatComparesOffsetsIsRefused() {
		assertThat(ListenerStartupTests.refusal(this.runner, Offsets.class).getDescription())
			.contains("it parks blocked records, which are processed after later ones");
	}

	@Test
	void ackModeInWhichTheListenerAcknowledgesIsRefused() {
		assertThat(ListenerStartupTests
			.refusal(this.runner.withPropertyValues("spring.kafka.listener.ack-mode=manual"), Plain.class)
			.getDescription()).contains("the ack mode of its container is MANUAL instead of BATCH or RECORD");
	}

	@Test
	void storeThatParksNothingIsRefused() {
		assertThat(ListenerStartupTests
			.refusal(this.runner.withPropertyValues("idempotency.store.type=in-memory"), Plain.class)
			.getDescription()).contains("only the JDBC store parks records");
	}

	@Test
	void policyOfAllListenersApplies() {
		this.runner.withPropertyValues("idempotency.blocked=park")
			.withUserConfiguration(Pausing.class)
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(ListenerStartupTests
			.refusal(this.runner.withPropertyValues("idempotency.blocked=default"), Pausing.class)
			.getDescription()).contains("'idempotency.blocked' is 'default'");
		assertThat(ListenerStartupTests
			.refusal(this.runner.withPropertyValues("idempotency.parked.maximum=0"), Pausing.class)
			.getDescription()).contains("'idempotency.parked.maximum' is 0");
	}

	@Test
	@Tag("promise-1")
	void listenerThatWouldLeaveParkedRecordsBehindIsRefused() {
		this.runner.withUserConfiguration(Left.class).run((context) -> {
			ParkedRecords parked = context.getBean(IdempotencyStore.class).parkedRecords().orElseThrow();
			ParkedPartition partition = new ParkedPartition("left/left-topic", "left-topic", 0);
			ParkedRecord record = new ParkedRecord(partition, 1, 1, 0, null, new byte[0], null);
			UUID owner = UUID.randomUUID();
			parked.takeOver(partition, owner);
			parked.park(record, owner);
			assertThat(ListenerStartupTests.refusal(this.runner, Left.class).getDescription())
				.contains("1 records of the scope 'left/left-topic' are parked");
			parked.remove(record.id());
		});
	}

	static class Plain {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Pausing {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Left {

		@Idempotent
		@KafkaListener(topics = "left-topic", groupId = "left")
		void listen(String value) {
		}

	}

	static class Offsets {

		@Idempotent(blocked = BlockedPolicy.PARK, by = By.OFFSET)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Batch {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		void listen(List<String> values) {
		}

	}

	static class Async {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Reading {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value, Consumer<?, ?> consumer) {
		}

	}

	static class Retried {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Assigned {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(groupId = "group", topicPartitions = @TopicPartition(topic = "topic", partitions = "0"))
		void listen(String value) {
		}

	}

	static class Stopping {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@Bean
		static CommonContainerStoppingErrorHandler errorHandler() {
			return new CommonContainerStoppingErrorHandler();
		}

	}

	@KafkaListener(topics = "topic", groupId = "group")
	static class Policies {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaHandler
		void text(String value) {
		}

		@Idempotent(blocked = BlockedPolicy.PAUSE)
		@KafkaHandler
		void number(Integer value) {
		}

	}

	@KafkaListener(topics = "topic", groupId = "group")
	static class Scopes {

		@Idempotent(scope = "texts", blocked = BlockedPolicy.PARK)
		@KafkaHandler
		void text(String value) {
		}

		@Idempotent(scope = "numbers", blocked = BlockedPolicy.PARK)
		@KafkaHandler
		void number(Integer value) {
		}

	}

	static class Delegating {

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@Bean
		static CommonDelegatingErrorHandler errorHandler() {
			return new CommonDelegatingErrorHandler(new DefaultErrorHandler());
		}

	}

}
