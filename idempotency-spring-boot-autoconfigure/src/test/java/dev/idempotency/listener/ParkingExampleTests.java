package dev.idempotency.listener;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/parking.md}.
 */
@ResourceLock("shipments")
class ParkingExampleTests {

	@BeforeAll
	static void addTopic() {
		Servers.addTopics(1, "shipments");
	}

	@Test
	@Tag("promise-1")
	void shipmentsOfOtherCustomersAreBookedWhileOneIsBlocked() {
		run(300, Duration.ofSeconds(1));
	}

	@Test
	@Tag("storm")
	@Tag("promise-1")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void tenThousandShipmentsAreBookedWhileOneIsBlockedForAMinute() {
		run(10_000, Duration.ofMinutes(1));
	}

	private static void run(int others, Duration blocked) {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE booking (position bigserial, customer text, shipment text)");
		IdempotencyKey key = IdempotencyKey.of("booking/shipments", "alice-0");
		try (ConfigurableApplicationContext context = TestApp.of(ShipmentListener.class).database(database).run()) {
			CrashedOwner.claim(jdbc, key);
			long start = System.nanoTime();
			for (int i = 0; i < others; i++) {
				if (i % (others / 20) == 0) {
					Kafka.sendSoon(shipment("alice", "alice-" + i / (others / 20)));
				}
				Kafka.sendSoon(shipment("customer-" + i % 100, "other-" + i));
			}
			await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> assertThat(bookings(jdbc)).isEqualTo(others));
			long millis = Duration.ofNanos(System.nanoTime() - start).toMillis();
			await().atMost(Duration.ofMinutes(2))
				.untilAsserted(() -> assertThat(Kafka.lag("booking", "shipments")).isZero());
			assertThat(jdbc.queryForObject("SELECT count(*) FROM idempotency_record_parked", Integer.class))
				.isEqualTo(20);
			await().atMost(Duration.ofMinutes(3)).until(() -> System.nanoTime() - start > blocked.toNanos());
			assertThat(bookings(jdbc)).isEqualTo(others);
			CrashedOwner.endLease(jdbc, key);
			await().atMost(Duration.ofMinutes(1))
				.untilAsserted(() -> assertThat(bookings(jdbc)).isEqualTo(others + 20));
			System.out.printf("Parking: %d records of other keys processed in %d ms while a key was blocked for %d s%n",
					others, millis, blocked.toSeconds());
		}
		for (String customer : List.of("alice", "customer-7")) {
			List<Integer> numbers = jdbc
				.queryForList("SELECT shipment FROM booking WHERE customer = ? ORDER BY position", String.class,
						customer)
				.stream()
				.map((shipment) -> Integer.valueOf(shipment.substring(shipment.indexOf('-') + 1)))
				.toList();
			assertThat(numbers).isSorted().doesNotHaveDuplicates();
		}
		assertThat(jdbc.queryForList("SELECT shipment FROM booking WHERE customer = 'alice' ORDER BY position",
				String.class))
			.containsExactlyElementsOf(IntStream.range(0, 20).mapToObj((i) -> "alice-" + i).toList());
	}

	private static ProducerRecord<String, String> shipment(String customer, String shipment) {
		ProducerRecord<String, String> record = new ProducerRecord<>("shipments", 0, customer, shipment);
		record.headers().add(Kafka.KEY_HEADER, shipment.getBytes());
		return record;
	}

	private static int bookings(JdbcTemplate jdbc) {
		return jdbc.queryForObject("SELECT count(*) FROM booking", Integer.class);
	}

	@Test
	void pageContainsTheListenerThatThisTestRuns() throws IOException {
		String source = Files.readString(Path.of("src/test/java", getClass().getName().replace('.', '/') + ".java"));
		String page = Files.readString(Path.of("../docs/parking.md"));
		String example = page.substring(page.indexOf("@Component"), page.indexOf("```\n\n`ParkingExampleTests`"));
		assertThat(source.replaceAll("\\s+", " ")).contains("static class"
				+ example.substring(example.indexOf(" ShipmentListener")).replaceAll("\\s+", " ").stripTrailing());
	}

	// docs/parking.md
	@Component
	static class ShipmentListener {

		private final JdbcTemplate jdbc;

		ShipmentListener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Idempotent(blocked = BlockedPolicy.PARK)
		@KafkaListener(topics = "shipments", groupId = "booking")
		void book(ConsumerRecord<String, String> shipment) {
			this.jdbc.update("INSERT INTO booking (customer, shipment) VALUES (?, ?)", shipment.key(),
					shipment.value());
		}

	}

}
