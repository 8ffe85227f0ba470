package dev.idempotency.listener;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.stereotype.Component;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for parked records.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ParkingTests {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private TestApp app;

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.app = TestApp.of(Listeners.class, Handlers.class).database(database).with("idempotency.parked.maximum", 3);
		for (String name : List.of("leased", "transactional", "full", "failing", "replying", "handler", "open",
				"restarted")) {
			this.topics.put(name, Servers.newTopic(name, 1));
			this.app.with("topic." + name, this.topics.get(name));
		}
		Servers.addTopics(1, this.topics.get("failing") + "-dlt", this.topics.get("replying") + "-replies");
		this.context = this.app.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	private Queue<String> seen(String name) {
		return this.context.getBean(Listeners.class).seen(name);
	}

	private void send(String name, @Nullable String messageKey, String key) {
		ProducerRecord<String, String> record = new ProducerRecord<>(this.topics.get(name), 0, messageKey, key);
		record.headers().add(Kafka.KEY_HEADER, key.getBytes());
		record.headers().add("empty", null);
		Kafka.send(record);
	}

	private IdempotencyKey hold(String name, String key) {
		IdempotencyKey held = IdempotencyKey.of(name, key);
		CrashedOwner.claim(this.jdbc, held);
		return held;
	}

	private int parked(String name) {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record_parked WHERE scope = ?", Integer.class,
				name);
	}

	private void awaitDone(String name) {
		await().atMost(PATIENCE).untilAsserted(() -> {
			assertThat(parked(name)).isZero();
			assertThat(Kafka.lag(this.topics.get(name), this.topics.get(name))).isZero();
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	@Tag("promise-1")
	@Tag("promise-2")
	void blockedRecordIsParkedAndKeepsTheOrderOfItsMessageKeyWhileOthersAreProcessed(String name) {
		IdempotencyKey held = hold(name, "held");
		send(name, "a", "held");
		send(name, "b", "other-1");
		send(name, "a", "behind");
		send(name, null, "other-2");
		send(name, "b", "other-3");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen(name)).contains("other-3"));
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(Kafka.lag(this.topics.get(name), this.topics.get(name))).isZero());
		assertThat(seen(name)).containsExactly("other-1", "other-2", "other-3");
		assertThat(parked(name)).isEqualTo(2);
		CrashedOwner.endLease(this.jdbc, held);
		awaitDone(name);
		assertThat(seen(name)).containsExactly("other-1", "other-2", "other-3", "held", "behind");
		send(name, "a", "later");
		send(name, "a", "held");
		awaitDone(name);
		assertThat(seen(name)).endsWith("held", "behind", "later").hasSize(6);
	}

	@Test
	@Tag("promise-1")
	void recordWhoseKeyAnOpenTransactionHoldsIsParked() throws SQLException {
		String name = "open";
		try (Connection open = this.context.getBean(javax.sql.DataSource.class).getConnection()) {
			open.setAutoCommit(false);
			CrashedOwner.claim(new JdbcTemplate(new SingleConnectionDataSource(open, true)),
					IdempotencyKey.of(name, "open"));
			send(name, "open", "open");
			send(name, "free", "free");
			await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen(name)).contains("free"));
			assertThat(seen(name)).doesNotContain("open");
			assertThat(parked(name)).isOne();
			open.rollback();
		}
		awaitDone(name);
		assertThat(seen(name)).filteredOn("open"::equals).hasSize(1);
	}

	@Test
	@Tag("promise-1")
	void partitionWaitsWhenTheMaximumIsReachedAndGoesOnLater() {
		List<IdempotencyKey> held = List.of(hold("full", "h1"), hold("full", "h2"), hold("full", "h3"),
				hold("full", "h4"));
		for (int i = 1; i <= 4; i++) {
			send("full", "k" + i, "h" + i);
		}
		send("full", "k5", "last");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(parked("full")).isEqualTo(3));
		await().during(Duration.ofSeconds(2))
			.atMost(PATIENCE)
			.until(() -> Kafka.lag(this.topics.get("full"), this.topics.get("full")) == 2);
		held.forEach((key) -> CrashedOwner.endLease(this.jdbc, key));
		awaitDone("full");
		assertThat(seen("full")).containsExactlyInAnyOrder("h1", "h2", "h3", "h4", "last");
	}

	@Test
	@Tag("promise-1")
	void failingParkedRecordsReachTheDeadLetterTopicWithTheirAttempts() {
		String name = "failing";
		List<IdempotencyKey> held = List.of(hold(name, "bad-1"), hold(name, "bad-2"));
		send(name, "a", "bad-1");
		send(name, "b", "bad-2");
		send(name, "a", "good-1");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(parked(name)).isEqualTo(3));
		held.forEach((key) -> CrashedOwner.endLease(this.jdbc, key));
		awaitDone(name);
		assertThat(seen(name)).filteredOn("bad-1"::equals).hasSize(3);
		assertThat(seen(name)).filteredOn("bad-2"::equals).hasSize(3);
		assertThat(seen(name)).filteredOn("good-1"::equals).hasSize(1);
		assertThat(seen(name)).containsSubsequence("bad-1", "bad-1", "bad-1", "good-1");
		assertThat(Kafka.read(this.topics.get(name) + "-dlt")).extracting(ConsumerRecord::value)
			.containsExactlyInAnyOrder("bad-1", "bad-2");
	}

	@Test
	@Tag("promise-1")
	void nextConsumerProcessesTheParkedRecordsInTheirOrder() {
		String name = "restarted";
		IdempotencyKey held = hold(name, "restarted");
		send(name, "r", "restarted");
		send(name, "r", "restarted-behind");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(parked(name)).isEqualTo(2));
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(name);
		container.stop();
		Kafka.rewind(this.topics.get(name), this.topics.get(name));
		container.start();
		send(name, "r", "restarted-later");
		send(name, "s", "restarted-other");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen(name)).contains("restarted-other"));
		CrashedOwner.endLease(this.jdbc, held);
		awaitDone(name);
		assertThat(seen(name)).filteredOn((value) -> value.startsWith("restarted"))
			.containsExactly("restarted-other", "restarted", "restarted-behind", "restarted-later");
	}

	@Test
	@Tag("promise-8")
	void parkedRecordIsInterceptedRepliedAndRestsWhileTheApplicationPausesItsContainer() {
		String name = "replying";
		IdempotencyKey held = hold(name, "request");
		send(name, "a", "request");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(parked(name)).isOne());
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer("replying");
		container.pause();
		// An attempt that began before the pause may still claim the key.
		AtomicInteger attempts = new AtomicInteger(-1);
		await().atMost(PATIENCE)
			.pollInterval(Duration.ofSeconds(2))
			.until(() -> attempts.getAndSet(seen("intercepted").size()) == attempts.get());
		CrashedOwner.endLease(this.jdbc, held);
		await().during(Duration.ofSeconds(6)).atMost(PATIENCE).until(() -> seen(name).isEmpty());
		container.resume();
		awaitDone(name);
		assertThat(seen(name)).containsExactly("request");
		assertThat(seen("group")).containsExactly(this.topics.get(name));
		assertThat(seen("intercepted")).filteredOn("request"::equals).hasSizeGreaterThanOrEqualTo(2);
		assertThat(Kafka.read(this.topics.get(name) + "-replies")).extracting(ConsumerRecord::value)
			.containsExactly("reply to request");
	}

	@Test
	@Tag("promise-1")
	void recordOfAClassWithSeveralMethodsIsParked() {
		String topic = this.topics.get("handler");
		IdempotencyKey held = hold(topic + "/" + topic + "#text", "handled");
		send("handler", "a", "handled");
		send("handler", "b", "next");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen("handler")).containsExactly("next"));
		assertThat(parked(topic + "/" + topic)).isOne();
		CrashedOwner.endLease(this.jdbc, held);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen("handler")).containsExactly("next", "handled"));
	}

	@Component
	@Idempotent(mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
	@KafkaListener(topics = "${topic.handler}", groupId = "${topic.handler}")
	static class Handlers {

		private final Listeners listeners;

		Handlers(Listeners listeners) {
			this.listeners = listeners;
		}

		@KafkaHandler
		void text(String value) {
			this.listeners.seen("handler").add(value);
		}

		@KafkaHandler
		void number(Integer value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		Queue<String> seen(String name) {
			return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
		}

		@Bean
		DefaultErrorHandler errorHandler(KafkaTemplate<?, ?> template) {
			return new DefaultErrorHandler(new DeadLetterPublishingRecoverer(template), new FixedBackOff(20, 2));
		}

		@Bean
		RecordInterceptor<Object, Object> interceptor() {
			return (record, consumer) -> {
				seen("intercepted").add(String.valueOf(record.value()));
				return record;
			};
		}

		@Idempotent(scope = "replying", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "replying", topics = "${topic.replying}", groupId = "${topic.replying}")
		@SendTo("${topic.replying}-replies")
		String replying(String value, @Header(KafkaHeaders.GROUP_ID) String group) {
			seen("replying").add(value);
			seen("group").add(group);
			return "reply to " + value;
		}

		@Idempotent(scope = "open", mode = Mode.TRANSACTIONAL, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.open}", groupId = "${topic.open}")
		void open(String value) {
			seen("open").add(value);
		}

		@Idempotent(scope = "restarted", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "restarted", topics = "${topic.restarted}", groupId = "${topic.restarted}")
		void restarted(String value) {
			seen("restarted").add(value);
		}

		@Idempotent(scope = "leased", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.leased}", groupId = "${topic.leased}")
		void leased(String value) {
			seen("leased").add(value);
		}

		@Idempotent(scope = "transactional", mode = Mode.TRANSACTIONAL, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.transactional}", groupId = "${topic.transactional}")
		void transactional(String value) {
			seen("transactional").add(value);
		}

		@Idempotent(scope = "full", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.full}", groupId = "${topic.full}")
		void full(String value) {
			seen("full").add(value);
		}

		@Idempotent(scope = "failing", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.failing}", groupId = "${topic.failing}")
		void failing(String value) {
			seen("failing").add(value);
			if (value.startsWith("bad")) {
				throw new IllegalStateException("bad");
			}
		}

	}

}
