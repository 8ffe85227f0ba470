package dev.idempotency.listener;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
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
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.AbstractConsumerSeekAware;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.stereotype.Component;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for parked records when a deserializer, a thread or a consumer fails.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ParkingFailureTests {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		TestApp app = TestApp.of(Listeners.class, Rewound.class)
			.database(database)
			.with("idempotency.parked.maximum", 2)
			.with("idempotency.store.timeout", "20s")
			.with("spring.kafka.consumer.key-deserializer", UnreliableDeserializer.class.getName())
			.with("spring.kafka.consumer.value-deserializer", UnreliableDeserializer.class.getName());
		for (String name : List.of("values", "keys", "classes", "full", "rewound")) {
			this.topics.put(name, Servers.newTopic(name, 1));
			app.with("topic." + name, this.topics.get(name));
		}
		this.topics.put("moved", Servers.newTopic("moved", 2));
		app.with("topic.moved", this.topics.get("moved"));
		this.context = app.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	private Listeners listeners() {
		return this.context.getBean(Listeners.class);
	}

	private Queue<String> seen(String name) {
		return listeners().seen(name);
	}

	private MessageListenerContainer container(String name) {
		return this.context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer(name);
	}

	private void send(String name, String messageKey, String key) {
		ProducerRecord<String, String> record = new ProducerRecord<>(this.topics.get(name), 0, messageKey, key);
		record.headers().add(Kafka.KEY_HEADER, key.getBytes());
		Kafka.send(record);
	}

	private IdempotencyKey hold(String name, String key) {
		IdempotencyKey held = IdempotencyKey.of(name, key);
		CrashedOwner.claim(this.jdbc, held);
		return held;
	}

	private IdempotencyKey park(String name, String messageKey, String key) {
		IdempotencyKey held = hold(name, key);
		int before = parked(name);
		send(name, messageKey, key);
		await().atMost(PATIENCE).untilAsserted(() -> {
			assertThat(parked(name)).isEqualTo(before + 1);
			assertThat(lag(name)).isZero();
		});
		return held;
	}

	private int parked(String name) {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record_parked WHERE scope = ?", Integer.class,
				name);
	}

	private long lag(String name) {
		return Kafka.lag(this.topics.get(name), this.topics.get(name));
	}

	private void awaitDone(String name) {
		await().atMost(PATIENCE).untilAsserted(() -> {
			assertThat(parked(name)).isZero();
			assertThat(lag(name)).isZero();
		});
	}

	@Test
	@Tag("promise-1")
	void parkedRecordStaysParkedWhileItsDeserializerFails() {
		String name = "values";
		IdempotencyKey held = park(name, "a", "held");
		UnreliableDeserializer.FAILING.add("held");
		CrashedOwner.endLease(this.jdbc, held);
		await().atMost(PATIENCE).until(() -> UnreliableDeserializer.FAILED.contains("held"));
		await().during(Duration.ofSeconds(2)).atMost(PATIENCE).until(() -> parked(name) == 1);
		UnreliableDeserializer.FAILING.remove("held");
		awaitDone(name);
		assertThat(seen(name)).containsExactly("held");
	}

	@ParameterizedTest
	@ValueSource(strings = { "keys", "classes" })
	@Tag("promise-1")
	void recordDoesNotOvertakeAParkedOneWhoseMessageKeyCouldNotBeDeserializedAtFirst(String name) {
		IdempotencyKey held = park(name, name, "held-" + name);
		container(name).stop();
		UnreliableDeserializer.FAILING.add(name);
		container(name).start();
		await().atMost(PATIENCE).until(() -> UnreliableDeserializer.FAILED.contains(name));
		UnreliableDeserializer.FAILING.remove(name);
		send(name, name, "later");
		await().during(Duration.ofSeconds(3)).atMost(PATIENCE).until(() -> seen(name).isEmpty());
		CrashedOwner.endLease(this.jdbc, held);
		awaitDone(name);
		assertThat(seen(name)).containsExactly("held-" + name, "later");
	}

	@Test
	@Tag("promise-1")
	void redeliveredRecordThatIsParkedAlreadyNeedsNoPlace() {
		String name = "full";
		List<IdempotencyKey> held = List.of(park(name, "a", "full-1"), park(name, "b", "full-2"));
		container(name).stop();
		Kafka.rewind(this.topics.get(name), this.topics.get(name));
		send(name, "c", "other");
		container(name).start();
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(seen(name)).containsExactly("other"));
		assertThat(parked(name)).isEqualTo(2);
		held.forEach((key) -> CrashedOwner.endLease(this.jdbc, key));
		awaitDone(name);
		assertThat(seen(name)).containsExactlyInAnyOrder("other", "full-1", "full-2");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void recordThatIsRedeliveredWhileItIsProcessedDoesNotStayParked() throws Exception {
		String name = "rewound";
		IdempotencyKey held = park(name, "a", "first");
		CrashedOwner.endLease(this.jdbc, held);
		await().atMost(PATIENCE).until(() -> seen(name).contains("first"));
		try (Connection locking = this.context.getBean(DataSource.class).getConnection()) {
			locking.setAutoCommit(false);
			new JdbcTemplate(new SingleConnectionDataSource(locking, true))
				.queryForList("SELECT owner FROM idempotency_record_parked_owner WHERE scope = ? FOR UPDATE", name);
			this.context.getBean(Rewound.class).seekToBeginning();
			await().atMost(PATIENCE).until(() -> isParking() || listeners().delivered("first") == 2);
			listeners().release(name);
			await().atMost(PATIENCE).until(() -> parked(name) == 0);
			locking.rollback();
		}
		send(name, "a", "second");
		await().atMost(PATIENCE).until(() -> seen(name).contains("second"));
		awaitDone(name);
		assertThat(seen(name)).containsExactly("first", "second");
	}

	private boolean isParking() {
		return this.jdbc.queryForObject(
				"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
						+ "AND datname = current_database() AND query LIKE '%parked_owner%FOR UPDATE%'",
				Integer.class) > 0;
	}

	@Test
	@Tag("promise-1")
	void partitionThatMovesToAnotherThreadOfTheContainerLeavesNoParkedRecordsBehind() {
		String name = "moved";
		IdempotencyKey held = park(name, "a", "held-moved");
		send(name, "b", "slow");
		await().atMost(PATIENCE).until(() -> seen(name).contains("slow"));
		// The other thread reads the parked record.
		await().atMost(PATIENCE).until(() -> listeners().added(this.topics.get(name)) > 1);
		listeners().release(name);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(listeners().parked(this.topics.get(name))).isOne());
		CrashedOwner.endLease(this.jdbc, held);
		awaitDone(name);
		IdempotencyKey next = park(name, "c", "next");
		CrashedOwner.endLease(this.jdbc, next);
		awaitDone(name);
		assertThat(listeners().parked(this.topics.get(name))).isZero();
	}

	/**
	 * A deserializer of a schema registry that is not available for some time.
	 */
	public static class UnreliableDeserializer extends StringDeserializer {

		static final Set<String> FAILING = ConcurrentHashMap.newKeySet();

		static final Set<String> FAILED = ConcurrentHashMap.newKeySet();

		@Override
		public String deserialize(String topic, byte[] data) {
			String text = super.deserialize(topic, data);
			if (text != null && FAILING.contains(text)) {
				FAILED.add(text);
				if (text.equals("classes")) {
					throw new NoClassDefFoundError("not available");
				}
				throw new IllegalStateException("not available");
			}
			return text;
		}

	}

	@Component
	static class Rewound extends AbstractConsumerSeekAware {

		private final Listeners listeners;

		Rewound(Listeners listeners) {
			this.listeners = listeners;
		}

		@Idempotent(scope = "rewound", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "rewound", topics = "${topic.rewound}", groupId = "${topic.rewound}")
		void rewound(String value) throws InterruptedException {
			this.listeners.seen("rewound").add(value);
			if (value.equals("first")) {
				this.listeners.await("rewound");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		private final Map<String, CountDownLatch> latches = new ConcurrentHashMap<>();

		private final Map<String, Integer> parkedEvents = new ConcurrentHashMap<>();

		private final Map<String, Integer> removedEvents = new ConcurrentHashMap<>();

		private final Map<String, Integer> deliveries = new ConcurrentHashMap<>();

		Queue<String> seen(String name) {
			return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
		}

		private CountDownLatch latch(String name) {
			return this.latches.computeIfAbsent(name, (key) -> new CountDownLatch(1));
		}

		void await(String name) throws InterruptedException {
			latch(name).await(PATIENCE.toSeconds(), TimeUnit.SECONDS);
		}

		void release(String name) {
			latch(name).countDown();
		}

		int added(String topic) {
			return this.parkedEvents.getOrDefault(topic, 0);
		}

		int parked(String topic) {
			return added(topic) - this.removedEvents.getOrDefault(topic, 0);
		}

		int delivered(String value) {
			return this.deliveries.getOrDefault(value, 0);
		}

		// Also called for a record that is parked behind another one.
		@Bean
		RecordInterceptor<Object, Object> interceptor() {
			return new RecordInterceptor<>() {

				@Override
				public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
						Consumer<Object, Object> consumer) {
					return record;
				}

				@Override
				public void success(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
					Listeners.this.deliveries.merge(String.valueOf(record.value()), 1, Integer::sum);
				}

			};
		}

		@Bean
		IdempotencyListener counting() {
			return new IdempotencyListener() {

				@Override
				public void parked(Parked record) {
					Listeners.this.parkedEvents.merge(record.topic(), 1, Integer::sum);
				}

				@Override
				public void unparked(Parked record, ParkedOutcome outcome) {
					Listeners.this.removedEvents.merge(record.topic(), 1, Integer::sum);
				}

			};
		}

		@Idempotent(scope = "values", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "${topic.values}", groupId = "${topic.values}")
		void values(String value) {
			seen("values").add(value);
		}

		@Idempotent(scope = "keys", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "keys", topics = "${topic.keys}", groupId = "${topic.keys}")
		void keys(String value) {
			seen("keys").add(value);
		}

		@Idempotent(scope = "classes", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "classes", topics = "${topic.classes}", groupId = "${topic.classes}")
		void classes(String value) {
			seen("classes").add(value);
		}

		@Idempotent(scope = "full", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "full", topics = "${topic.full}", groupId = "${topic.full}")
		void full(String value) {
			seen("full").add(value);
		}

		@Idempotent(scope = "moved", mode = Mode.LEASED, blocked = BlockedPolicy.PARK)
		@KafkaListener(id = "moved", topics = "${topic.moved}", groupId = "${topic.moved}", concurrency = "2",
				properties = { "max.poll.interval.ms=4000", "session.timeout.ms=4000", "heartbeat.interval.ms=500" })
		void moved(String value) throws InterruptedException {
			seen("moved").add(value);
			if (value.equals("slow")) {
				await("moved");
			}
		}

	}

}
