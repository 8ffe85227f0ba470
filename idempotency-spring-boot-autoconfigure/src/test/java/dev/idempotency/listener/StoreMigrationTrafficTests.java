package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Keys move from Redis to PostgreSQL by rolling updates while records and their
 * duplicates arrive in all partitions.
 */
class StoreMigrationTrafficTests {

	private static final int PARTITIONS = 4;

	private static final int KEYS_PER_STEP = 60;

	private static final int AHEAD = 40;

	// The steps in which each key was processed.
	private static final Map<String, List<String>> EFFECTS = new ConcurrentHashMap<>();

	private final String topic = Servers.newTopic("migration", PARTITIONS);

	private final String database = Servers.newDatabase();

	private final AtomicInteger keys = new AtomicInteger();

	private final AtomicIntegerArray sent = new AtomicIntegerArray(PARTITIONS);

	// The first key that duplicates are drawn from. The last step knows no older ones.
	private volatile int oldest;

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	void rollingUpdatesFromOneStoreToAnotherDoubleAndLoseNothing() throws InterruptedException {
		AtomicBoolean sending = new AtomicBoolean(true);
		Thread sender = new Thread(() -> send(sending));
		sender.start();
		ConfigurableApplicationContext source = start("source", "redis", Map.of());
		awaitKeys();
		ConfigurableApplicationContext dual = start("dual", "jdbc", Map.of("idempotency.store.migrate-from", "old",
				"idempotency.stores.old.type", "redis", "idempotency.store.dual-write", true));
		awaitKeys();
		source.close();
		awaitKeys();
		double answers = dual.getBean(MeterRegistry.class)
			.get("idempotency.migration.answers")
			.tag("source", "old")
			.tag("outcome", "completed")
			.counter()
			.count();
		assertThat(answers).isPositive();
		ConfigurableApplicationContext migrating = start("migrating", "jdbc",
				Map.of("idempotency.store.migrate-from", "old", "idempotency.stores.old.type", "redis"));
		awaitKeys();
		dual.close();
		this.oldest = this.keys.get();
		awaitKeys();
		awaitOlderDuplicates();
		ConfigurableApplicationContext target = start("target", "jdbc", Map.of());
		awaitKeys();
		migrating.close();
		awaitKeys();
		sending.set(false);
		sender.join();
		await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.lag(this.topic, this.topic) == 0);
		target.close();
		assertThat(EFFECTS).hasSize(this.keys.get());
		assertThat(EFFECTS.entrySet()).allSatisfy((effect) -> assertThat(effect.getValue()).hasSize(1));
	}

	private void send(AtomicBoolean sending) {
		Random random = new Random(17);
		while (sending.get()) {
			int key = this.keys.getAndIncrement();
			send(random, key);
			send(random, key);
			int known = key - this.oldest;
			if (known > 0) {
				send(random, this.oldest + random.nextInt(known));
			}
			// The consumers set the pace, however fast the machine is.
			while (key - EFFECTS.size() > AHEAD && sending.get()) {
				LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
			}
		}
	}

	private void send(Random random, int key) {
		int partition = random.nextInt(PARTITIONS);
		Kafka.sendSoon(Kafka.record(this.topic, partition, this.topic + "-" + key, "v"));
		this.sent.incrementAndGet(partition);
	}

	// A partition whose record is blocked falls behind the others by seconds.
	private void awaitOlderDuplicates() {
		for (int partition = 0; partition < PARTITIONS; partition++) {
			int number = partition;
			int goal = this.sent.get(partition);
			await().atMost(Duration.ofSeconds(60)).until(() -> Kafka.committed(this.topic, this.topic, number) >= goal);
		}
	}

	private void awaitKeys() {
		int goal = this.keys.get() + KEYS_PER_STEP;
		await().atMost(Duration.ofSeconds(60)).until(() -> EFFECTS.containsKey(this.topic + "-" + goal));
	}

	private ConfigurableApplicationContext start(String step, String type, Map<String, Object> properties) {
		TestApp app = TestApp.of(Listeners.class)
			.redis(Servers.redis())
			.database(this.database)
			.with("idempotency.store.type", type)
			.with("idempotency.mode", "leased")
			.with("idempotency.lease", "20s")
			.with("spring.kafka.consumer.max-poll-records", 20)
			.with("topic", this.topic)
			.with("step", step);
		properties.forEach(app::with);
		return app.run();
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		@Value("${step}")
		private String step;

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}", concurrency = "2")
		void listen(String value, @Header("Idempotency-Key") byte[] key) {
			EFFECTS.computeIfAbsent(new String(key, StandardCharsets.UTF_8), (name) -> new CopyOnWriteArrayList<>())
				.add(this.step + " at " + Instant.now() + " on " + Thread.currentThread().getName());
		}

	}

}
