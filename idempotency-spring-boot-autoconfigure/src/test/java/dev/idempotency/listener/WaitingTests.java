package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for blocked records with the error handlers that an application may have.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Order(3)
class WaitingTests {

	private static final Duration PATIENCE = Duration.ofSeconds(40);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private WaitingLog log;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		TestApp app = TestApp.of(WaitingConfiguration.class)
			.database(database)
			// Shorter than a partition is paused: a consumer that does not poll leaves
			// its group.
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 4500);
		for (String name : List.of("plain", "dlt", "logging", "swallowing", "unseeking", "rejoined")) {
			this.topics.put(name, Servers.newTopic(name, 2));
			app.with("topic." + name, this.topics.get(name));
		}
		this.context = app.run();
		this.log = this.context.getBean(WaitingLog.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void noRecordIsSkippedAndTheOrderIsKeptWithTheDefaultErrorHandler() {
		assertWaits("plain");
	}

	@Test
	void blockedRecordIsNotRecoveredWithADeadLetterRecoverer() {
		assertWaits("dlt");
		assertThat(Kafka.read(this.topics.get("dlt") + "-dlt")).isEmpty();
	}

	@Test
	void noRecordIsSkippedWithAnErrorHandlerThatOnlyLogs() {
		assertWaits("logging", false);
	}

	@Test
	void noRecordIsSkippedWithAnErrorHandlerThatDoesNotSeek() {
		assertWaits("unseeking", false);
	}

	@Test
	void noRecordIsSkippedWithAListenerErrorHandlerThatSwallowsExceptions() {
		assertWaits("swallowing");
	}

	@Test
	void blockedDeliveriesUseNoAttemptsOfHandlerFailures() {
		String topic = this.topics.get("rejoined");
		Servers.addTopics(2, topic + "-dlt");
		Kafka.send(topic, "bad", "bad");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.read(topic + "-dlt")).hasSize(1));
		assertThat(this.log.attempts).containsExactly(1, 2, 3);
		assertThat(this.log.blockedDeliveries("rejoined")).hasValueGreaterThanOrEqualTo(2);
	}

	private void assertWaits(String name) {
		assertWaits(name, true);
	}

	// Spring Kafka pauses the whole consumer while a handler that does not seek has
	// remaining records.
	private void assertWaits(String name, boolean otherPartitionsGoOn) {
		String topic = this.topics.get(name);
		if (name.equals("dlt")) {
			Servers.addTopics(2, topic + "-dlt");
		}
		IdempotencyKey held = IdempotencyKey.of(name, "held");
		CrashedOwner.claim(this.jdbc, held);
		Kafka.send(Kafka.record(topic, 0, "before", "before"));
		Kafka.send(Kafka.record(topic, 0, "held", "held"));
		Kafka.send(Kafka.record(topic, 0, "behind", "behind"));
		Queue<String> seen = this.log.seen(name);
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(this.log.blockedDeliveries(name)).hasValueGreaterThan(0));
		Kafka.send(Kafka.record(topic, 1, "other", "other"));
		if (otherPartitionsGoOn) {
			assertOtherPartitionGoesOn(name);
		}
		// Longer than {@code max.poll.interval.ms}.
		await().during(Duration.ofSeconds(7)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic) >= 2);
		assertThat(seen).contains("before").doesNotContain("held", "behind");
		CrashedOwner.endLease(this.jdbc, held);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		assertThat(seen).filteredOn((value) -> !value.startsWith("other")).containsExactly("before", "held", "behind");
		assertThat(this.log.assignments(topic)).hasValue(1);
	}

	// If the whole consumer was paused, each value would cost a redelivery of the
	// blocked record.
	private void assertOtherPartitionGoesOn(String name) {
		List<String> others = List.of("other-1", "other-2", "other-3", "other-4", "other-5");
		for (String other : others) {
			Kafka.send(Kafka.record(this.topics.get(name), 1, other, other));
			await().atMost(PATIENCE).untilAsserted(() -> assertThat(this.log.seen(name)).contains(other));
		}
		assertThat(this.log.blockedDeliveries(name)).hasValueLessThan(others.size());
	}

}
