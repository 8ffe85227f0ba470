package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.test.DeadLetters;
import dev.idempotency.test.Kafka;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the retries of asynchronous results in a container with two consumers, which
 * share the listener adapter of Spring Kafka.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("promise-1")
class AsyncRetryTests {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private ConfigurableApplicationContext context;

	private Listeners listeners;

	@BeforeAll
	void start() {
		TestApp app = TestApp.of(Listeners.class, DeadLetters.class).with("spring.kafka.listener.concurrency", 2);
		for (String name : List.of("future", "mono", "excluded")) {
			String topic = Servers.newTopic(name, 2);
			Servers.addTopics(2, topic + "-dead");
			this.topics.put(name, topic);
			app.with("topic." + name, topic);
		}
		this.context = app.run();
		this.listeners = TestApp.target(this.context, Listeners.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@CsvSource({ "future,0", "future,1", "mono,0", "mono,1", "excluded,0", "excluded,1" })
	void recordsBehindARetryThatSucceedsAreDelivered(String name, int partition) {
		List<String> values = Stream.of("before", "fails once", "behind")
			.map((value) -> value + " " + partition)
			.toList();
		values.forEach((value) -> send(name, partition, value));
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).containsAll(values));
		// When the container has passed the records that it has fetched with the retry.
		send(name, partition, "later " + partition);
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).contains("later " + partition));
		assertThat(this.listeners.runs(name)).filteredOn(values.get(1)::equals).hasSize(2);
		AsyncCommits.await(this.topics.get(name), partition);
	}

	@ParameterizedTest
	@CsvSource({ "future,0", "future,1", "mono,0", "mono,1", "excluded,0", "excluded,1" })
	void recordWhoseResultAlwaysFailsIsRecovered(String name, int partition) {
		String value = "fails always " + partition;
		send(name, partition, value);
		send(name, partition, "behind it " + partition);
		await().atMost(PATIENCE)
			.until(() -> Kafka.read(this.topics.get(name) + "-dead")
				.stream()
				.anyMatch((record) -> value.equals(record.value())));
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).contains("behind it " + partition));
		assertThat(this.listeners.runs(name)).filteredOn(value::equals).hasSize(6);
	}

	private void send(String name, int partition, String value) {
		Kafka.send(Kafka.record(this.topics.get(name), partition, value, value));
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, List<String>> runs = new ConcurrentHashMap<>();

		@Idempotent
		@KafkaListener(topics = "${topic.future}", groupId = "${topic.future}")
		CompletableFuture<Void> future(String value) {
			return CompletableFuture.runAsync(() -> handle("future", value));
		}

		@Idempotent
		@KafkaListener(topics = "${topic.mono}", groupId = "${topic.mono}")
		Mono<Void> mono(String value) {
			return Mono.fromRunnable(() -> handle("mono", value));
		}

		@Idempotent(condition = "#value == 'nothing'")
		@KafkaListener(topics = "${topic.excluded}", groupId = "${topic.excluded}")
		CompletableFuture<Void> excluded(String value) {
			return CompletableFuture.runAsync(() -> handle("excluded", value));
		}

		private void handle(String name, String value) {
			runs(name).add(value);
			if (value.startsWith("fails always")
					|| (value.startsWith("fails once") && runs(name).stream().filter(value::equals).count() == 1)) {
				throw new IllegalStateException(value);
			}
		}

		List<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (key) -> new CopyOnWriteArrayList<>());
		}

	}

}
