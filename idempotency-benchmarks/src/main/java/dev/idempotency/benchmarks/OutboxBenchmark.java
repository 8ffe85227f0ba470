package dev.idempotency.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.TableName;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxListener;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.RelaySettings;
import dev.idempotency.outbox.TransactionalOutbox;
import dev.idempotency.producer.KafkaOutboxPublisher;
import dev.idempotency.producer.KafkaOutboxSerializer;

/**
 * A relay beside a bare {@link KafkaTemplate}: how many messages it takes from a full
 * outbox to the broker, and how long a message takes from its commit to a consumer.
 */
public final class OutboxBenchmark {

	private static final TableName TABLE = TableName.of("idempotency_outbox");

	private static final RelaySettings SETTINGS = new RelaySettings(500, Duration.ofSeconds(1), Duration.ofSeconds(20),
			10, Duration.ofSeconds(5));

	private static final int MESSAGES = 50_000;

	private static final int KEYS = 1000;

	private static final int PER_TRANSACTION = 500;

	private static final int PARTITIONS = 6;

	private static final int ROUNDS = 5;

	private static final String PAYLOAD = "x".repeat(200);

	private final Servers servers;

	private final JdbcOutboxStore store;

	private final TransactionTemplate transactions;

	private final DefaultKafkaProducerFactory<Object, Object> producers;

	private final KafkaTemplate<Object, Object> template;

	private OutboxBenchmark(Servers servers, HikariDataSource pool) {
		this.servers = servers;
		JdbcSchemaMigration.migrateOutbox(pool, TABLE);
		this.store = new JdbcOutboxStore(pool, TABLE, Duration.ofSeconds(5), Duration.ZERO, false);
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(pool));
		this.producers = new DefaultKafkaProducerFactory<>(
				Map.of("bootstrap.servers", servers.properties().get("spring.kafka.bootstrap-servers"), "linger.ms", 0,
						"key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
		this.template = new KafkaTemplate<>(this.producers);
	}

	/**
	 * Run.
	 * @param arguments none
	 * @throws IOException if a server does not start
	 */
	public static void main(String[] arguments) throws IOException {
		try (Servers servers = Servers.start(); HikariDataSource pool = new HikariDataSource()) {
			Machine.describe(servers).lines().forEach((name, value) -> System.out.println("- " + name + ": " + value));
			pool.setJdbcUrl(String.valueOf(servers.properties().get("spring.datasource.url")));
			OutboxBenchmark benchmark = new OutboxBenchmark(servers, pool);
			benchmark.throughput(new JdbcTemplate(pool));
			benchmark.latency();
		}
		// The broker leaves threads behind.
		System.exit(0);
	}

	private void throughput(JdbcTemplate jdbc) {
		System.out.println(
				"\n| messages, keys | KafkaTemplate: messages/s | relay: messages/s | ratio (range) |\n|---|---|---|---|");
		for (int keys : new int[] { KEYS, 1 }) {
			int messages = (keys == 1) ? MESSAGES / 10 : MESSAGES;
			List<Double> sent = new ArrayList<>();
			List<Double> relayed = new ArrayList<>();
			List<Double> ratios = new ArrayList<>();
			for (int round = -1; round < ROUNDS; round++) {
				String topic = newTopic();
				double bare = rate(messages, () -> send(topic, messages, keys));
				fill(newTopic(), messages, keys);
				jdbc.execute("VACUUM ANALYZE " + TABLE);
				double relay = rate(messages, () -> drain(messages));
				// The first one is for the compiler.
				if (round >= 0) {
					sent.add(bare);
					relayed.add(relay);
					ratios.add(relay / bare);
				}
			}
			System.out.println(String.format(Locale.ROOT, "| %d, %d | %.0f | %.0f | **%.2f** (%.2f–%.2f) |", messages,
					keys, median(sent), median(relayed), median(ratios),
					ratios.stream().mapToDouble(Double::doubleValue).min().orElseThrow(),
					ratios.stream().mapToDouble(Double::doubleValue).max().orElseThrow()));
		}
	}

	// One that has got a message in each partition is ready.
	private String newTopic() {
		String topic = this.servers.newTopic(PARTITIONS);
		IntStream.range(0, PARTITIONS).forEach((i) -> this.template.send(topic, i, "key", String.valueOf(-1)).join());
		return topic;
	}

	private static double rate(int messages, Runnable work) {
		long start = System.nanoTime();
		work.run();
		return messages / ((System.nanoTime() - start) / 1e9);
	}

	private void send(String topic, int messages, int keys) {
		CompletableFuture
			.allOf(IntStream.range(0, messages)
				.mapToObj((i) -> this.template.send(topic, "key-" + i % keys, PAYLOAD))
				.toArray(CompletableFuture[]::new))
			.join();
	}

	private void fill(String topic, int messages, int keys) {
		Outbox outbox = outbox(() -> {
		});
		for (int start = 0; start < messages; start += PER_TRANSACTION) {
			List<OutboxMessage> part = IntStream.range(start, start + PER_TRANSACTION)
				.mapToObj((i) -> OutboxMessage.to(topic).key("key-" + i % keys).payload(PAYLOAD).build())
				.toList();
			this.transactions.executeWithoutResult((status) -> outbox.send(part));
		}
	}

	private Outbox outbox(Runnable committed) {
		return new TransactionalOutbox(this.store, new KafkaOutboxSerializer(this.producers), committed);
	}

	private void drain(int messages) {
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.producers, SETTINGS.sendTimeout(), Set.of());
		CountDownLatch published = new CountDownLatch(messages);
		OutboxListener counter = new OutboxListener() {

			@Override
			public void attempted(OutboxRow row, Outcome outcome, Duration elapsed) {
				published.countDown();
			}

		};
		OutboxRelay relay = new OutboxRelay(this.store, publisher, SETTINGS, List.of(counter));
		relay.start();
		try {
			published.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		relay.stop();
		publisher.destroy();
	}

	private void latency() {
		System.out.println(
				"\n| messages/s | KafkaTemplate: send to consumer p50, p99 ms | outbox: commit to consumer p50, p99 ms |\n|---|---|---|");
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.producers, SETTINGS.sendTimeout(), Set.of());
		OutboxRelay relay = new OutboxRelay(this.store, publisher, SETTINGS, List.of());
		Outbox outbox = outbox(relay::wake);
		relay.start();
		for (int rate : new int[] { 50, 500, 2000 }) {
			String topic = newTopic();
			try (OutboxLatency latency = new OutboxLatency(this.servers, topic, rate)) {
				latency.run((number) -> {
					latency.sent(number);
					this.template.send(topic, "key-" + number % KEYS, String.valueOf(number));
				});
				List<Double> bare = latency.millis();
				latency.run((number) -> {
					this.transactions.executeWithoutResult(
							(status) -> outbox.send(topic, "key-" + number % KEYS, String.valueOf(number)));
					latency.sent(number);
				});
				List<Double> relayed = latency.millis();
				System.out.println(String.format(Locale.ROOT, "| %d | %.1f, %.1f | %.1f, %.1f |", rate, at(bare, 0.5),
						at(bare, 0.99), at(relayed, 0.5), at(relayed, 0.99)));
			}
		}
		relay.stop();
		publisher.destroy();
	}

	private static double at(List<Double> sorted, double quantile) {
		return sorted.get((int) (quantile * (sorted.size() - 1)));
	}

	private static double median(List<Double> values) {
		return at(values.stream().sorted().toList(), 0.5);
	}

}
