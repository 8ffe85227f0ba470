package dev.idempotency.listener;

import java.time.Duration;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.test.Kafka;
import dev.idempotency.test.PostgresServer;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a database that goes away under traffic and comes back, with Boot's default
 * error handler.
 */
class PostgresOutageTests {

	private static final Duration OUTAGE = Duration.ofSeconds(20);

	private final String topic = Servers.newTopic("outage", 3);

	private final AtomicInteger sent = new AtomicInteger();

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	void nothingIsLostOrDoubledConsumptionResumesAndNobodyLeavesTheGroup() throws Exception {
		PostgresServer server = PostgresServer.create();
		String database = Servers.newDatabase(server);
		Servers.jdbc(database).execute("CREATE TABLE effect (value text)");
		ScheduledExecutorService traffic = Executors.newSingleThreadScheduledExecutor();
		try (ConfigurableApplicationContext context = TestApp.of(Listeners.class)
			.database(database)
			.with("topic", this.topic)
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 10_000)
			.run()) {
			Listeners listeners = context.getBean(Listeners.class);
			traffic.scheduleAtFixedRate(this::send, 0, 50, TimeUnit.MILLISECONDS);
			await().until(() -> listeners.leased().size() > 20);
			listeners.outageBegins().countDown();
			await().until(() -> listeners.inFlight().getCount() == 0);
			server.stop();
			listeners.serverIsDown().countDown();
			int whenDown = this.sent.get();
			await().pollDelay(OUTAGE).atMost(OUTAGE.plusSeconds(10)).until(() -> this.sent.get() > whenDown + 100);
			server.start();
			long back = System.nanoTime();
			await().atMost(Duration.ofSeconds(15)).until(() -> listeners.leased().size() > whenDown + 10);
			assertThat(Duration.ofNanos(System.nanoTime() - back)).isLessThan(Duration.ofSeconds(15));
			traffic.shutdown();
			assertThat(traffic.awaitTermination(5, TimeUnit.SECONDS)).isTrue();
			await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
				assertThat(Kafka.lag(this.topic + "-transactional", this.topic)).isZero();
				assertThat(Kafka.lag(this.topic + "-leased", this.topic)).isZero();
			});
			assertThat(context.getBean(JdbcTemplate.class).queryForList("SELECT value FROM effect", String.class))
				.hasSize(this.sent.get())
				.doesNotHaveDuplicates();
			assertThat(listeners.leased()).hasSize(this.sent.get()).doesNotHaveDuplicates();
			assertThat(listeners.assignments()).hasValue(2);
		}
		finally {
			traffic.shutdownNow();
			server.stop();
		}
	}

	private void send() {
		int number = this.sent.get();
		Kafka.send(Kafka.record(this.topic, number % 3, "k" + number, "v" + number));
		this.sent.incrementAndGet();
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final JdbcTemplate jdbc;

		private final Queue<String> leased = new ConcurrentLinkedQueue<>();

		private final AtomicInteger assignments = new AtomicInteger();

		private final CountDownLatch outageBegins = new CountDownLatch(1);

		private final CountDownLatch inFlight = new CountDownLatch(1);

		private final CountDownLatch serverIsDown = new CountDownLatch(1);

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}", groupId = "${topic}-transactional")
		void transactional(String value) {
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}-leased")
		void leased(String value) throws InterruptedException {
			this.leased.add(value);
			if (this.outageBegins.getCount() == 0 && this.inFlight.getCount() == 1) {
				// The effect has happened, and its completion will meet a dead server.
				this.inFlight.countDown();
				this.serverIsDown.await();
			}
		}

		Queue<String> leased() {
			return this.leased;
		}

		AtomicInteger assignments() {
			return this.assignments;
		}

		CountDownLatch outageBegins() {
			return this.outageBegins;
		}

		CountDownLatch inFlight() {
			return this.inFlight;
		}

		CountDownLatch serverIsDown() {
			return this.serverIsDown;
		}

		@Bean
		static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> countAssignments(
				ObjectProvider<Listeners> listeners) {
			return (container) -> container.getContainerProperties()
				.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {

					@Override
					public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
						listeners.getObject().assignments().incrementAndGet();
					}

				});
		}

	}

}
