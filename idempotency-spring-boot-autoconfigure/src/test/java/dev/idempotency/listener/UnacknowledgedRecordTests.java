package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.IdempotencyRecord;
import dev.idempotency.IdempotencyRecord.State;
import dev.idempotency.Idempotent;
import dev.idempotency.test.Kafka;
import dev.idempotency.test.Logs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link UnacknowledgedRecords} and {@link AcknowledgmentCheck}: a record that
 * its method has not acknowledged is not completed.
 */
@Tag("promise-1")
@Tag("promise-15")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UnacknowledgedRecordTests {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String ack : List.of("manual", "manual_immediate")) {
			this.apps.put(ack, new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=" + ack));
		}
		this.apps.put("async", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=manual",
				"spring.kafka.listener.async-acks=true"));
		this.apps.put("transactional",
				new BatchApp(Listeners.class, "transactional", "spring.kafka.listener.ack-mode=manual"));
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	private static void awaitState(BatchApp app, String listener, String letter, State state) {
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(app.store().find(app.key(listener, letter))).get()
				.extracting(IdempotencyRecord::state)
				.isEqualTo(state));
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void recordIsProcessedAgainAfterARestart(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("forgetful", "a");
		app.start("forgetful");
		await().atMost(PATIENCE).until(() -> listeners.runs("forgetful").size() == 1);
		awaitState(app, "forgetful", "a", State.IN_PROGRESS);
		app.stop("forgetful");
		app.start("forgetful");
		app.awaitDone("forgetful");
		assertThat(listeners.runs("forgetful")).containsExactly("a", "a");
		awaitState(app, "forgetful", "a", State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgmentAfterTheMethodCompletesTheRecord(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("later", "a");
		app.start("later");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("later a"));
		awaitState(app, "later", "a", State.IN_PROGRESS);
		listeners.acknowledgments.get("later a").acknowledge();
		assertThat(app.record("later", "a").state()).isEqualTo(State.COMPLETED);
		app.awaitDone("later");
		assertThat(listeners.runs("later")).containsExactly("a");
	}

	// The copy of a must not wait for a, whose acknowledgment comes after it.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgmentOfALaterRecordCompletesThoseBeforeIt(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("some", "x", null);
		app.send("some", "a a x b c");
		app.start("some");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag("some")).isOne());
		assertThat(listeners.runs("some")).containsExactly("a", "b", "c");
		assertThat(app.record("some", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("some", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("some", "c").state()).isEqualTo(State.IN_PROGRESS);
		assertThat(listeners.committedBefore.get("some b")).isZero();
	}

	@Test
	void acknowledgmentOfALaterRecordOutOfOrderCompletesOnlyThat() {
		BatchApp app = this.apps.get("async");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("later", "a b");
		app.start("later");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("later b"));
		awaitState(app, "later", "b", State.IN_PROGRESS);
		listeners.acknowledgments.get("later b").acknowledge();
		assertThat(app.record("later", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("later", "a").state()).isEqualTo(State.IN_PROGRESS);
		listeners.acknowledgments.get("later a").acknowledge();
		assertThat(app.record("later", "a").state()).isEqualTo(State.COMPLETED);
		app.awaitDone("later");
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void recordThatIsSoughtBackIsProcessedAgain(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("seeking", "a b");
		app.start("seeking");
		app.awaitDone("seeking");
		assertThat(listeners.runs("seeking")).containsExactly("a", "b", "a", "b");
		assertThat(app.record("seeking", "a").state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-5")
	void transactionOfARecordThatIsNotAcknowledgedIsRolledBackWithoutUsingRetries() {
		BatchApp app = this.apps.get("transactional");
		Listeners listeners = app.listeners(Listeners.class);
		try (Logs logs = Logs.about("UnacknowledgedRecordTests.Listeners.forgetful")) {
			app.send("forgetful", "a b");
			app.start("forgetful");
			app.awaitDone("forgetful");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("without acknowledging", app.name("forgetful"), "offset 0", "leased mode");
		}
		assertThat(listeners.runs("forgetful")).containsExactly("a", "a", "b", "b");
		assertThat(listeners.effects("forgetful")).containsExactly("a", "b");
		assertThat(listeners.recovered).isEmpty();
		assertThat(app.record("forgetful", "a").state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-5")
	void transactionOfABatchCommitsWhatIsAcknowledged() {
		BatchApp app = this.apps.get("transactional");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("part", "a b c");
		app.start("part");
		app.awaitDone("part");
		assertThat(listeners.runs("part")).containsExactly("a b c", "a b", "c");
		assertThat(listeners.effects("part")).containsExactly("a", "b", "c");
		assertThat(listeners.recovered).isEmpty();
	}

	static class Listeners {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		private final Map<String, Acknowledgment> acknowledgments = new ConcurrentHashMap<>();

		private final Map<String, Long> committedBefore = new ConcurrentHashMap<>();

		private final Queue<String> recovered = new ConcurrentLinkedQueue<>();

		private final JdbcTemplate jdbc;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE effect (number serial, name text, value text)");
		}

		@Bean
		DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler((record, error) -> this.recovered.add(String.valueOf(record.value())),
					new FixedBackOff(0, 0));
		}

		Queue<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		List<String> effects(String name) {
			return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY number", String.class,
					name);
		}

		private void effect(String name, String value) {
			this.jdbc.update("INSERT INTO effect (name, value) VALUES (?, ?)", name, value);
		}

		@Idempotent(scope = "${prefix}-forgetful")
		@KafkaListener(id = "${prefix}-forgetful", topics = "${prefix}-forgetful")
		void forgetful(String value, Acknowledgment acknowledgment) {
			boolean first = !runs("forgetful").contains(value);
			runs("forgetful").add(value);
			effect("forgetful", value);
			if (!first) {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-later")
		@KafkaListener(id = "${prefix}-later", topics = "${prefix}-later")
		void later(String value, Acknowledgment acknowledgment) {
			runs("later").add(value);
			this.acknowledgments.put("later " + value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-some")
		@KafkaListener(id = "${prefix}-some", topics = "${prefix}-some")
		void some(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			runs("some").add(record.value());
			if (record.value().equals("b")) {
				this.committedBefore.put("some b", Kafka.committed(record.topic(), record.topic(), 0));
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-seeking")
		@KafkaListener(id = "${prefix}-seeking", topics = "${prefix}-seeking")
		void seeking(ConsumerRecord<String, String> record, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			boolean again = runs("seeking").contains(record.value());
			runs("seeking").add(record.value());
			if (again) {
				acknowledgment.acknowledge();
			}
			else if (record.value().equals("b")) {
				consumer.seek(new TopicPartition(record.topic(), 0), 0);
			}
		}

		@Idempotent(scope = "${prefix}-part")
		@KafkaListener(id = "${prefix}-part", topics = "${prefix}-part", batch = "true")
		void part(List<String> values, Acknowledgment acknowledgment) {
			runs("part").add(String.join(" ", values));
			values.forEach((value) -> effect("part", value));
			if (values.size() == 3) {
				acknowledgment.acknowledge(1);
			}
			else {
				acknowledgment.acknowledge();
			}
		}

	}

}
