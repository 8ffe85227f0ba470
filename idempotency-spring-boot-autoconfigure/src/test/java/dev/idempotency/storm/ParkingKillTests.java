package dev.idempotency.storm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ProcessGroup;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for processes that are killed while records are parked.
 */
@Tag("storm")
@ResourceLock("storms")
class ParkingKillTests {

	private static final int ACCOUNTS = 100;

	private static final int ROUNDS = 6;

	private static final int RECORDS = 500;

	private static final int PARTITIONS = 4;

	private static final Duration PATIENCE = Duration.ofMinutes(1);

	private final Random random = new Random();

	private final Map<String, Integer> numbers = new HashMap<>();

	private final String topic = Servers.newTopic("parking", PARTITIONS);

	private final String database = Servers.newDatabase();

	private final JdbcTemplate jdbc = Servers.jdbc(this.database);

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	@Tag("promise-1")
	@Tag("promise-2")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void parkedRecordsAreNotLostAndKeepTheOrderOfTheirMessageKeyDespiteKills(Mode mode) {
		this.jdbc.execute("CREATE TABLE effect (position bigserial, account text, number integer, process bigint)");
		ChildApplication application = TestApp.of(ParkingApp.class)
			.database(this.database)
			.with("topic", this.topic)
			.with("idempotency.mode", mode)
			.with("idempotency.lease", "3s")
			.with("spring.kafka.listener.concurrency", 2)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 3000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000)
			.child()
			.readyWhenOutputContains(ParkingApp.STARTED);
		try (ProcessGroup processes = new ProcessGroup(application, this.random)) {
			for (int i = 0; i < 2; i++) {
				processes.start();
			}
			int parked = 0;
			for (int round = 0; round < ROUNDS; round++) {
				processes.awaitReady();
				send();
				await().atMost(PATIENCE).pollInterval(Duration.ofMillis(20)).until(() -> parked() > 0);
				long left = (long) (RECORDS * this.random.nextDouble(0, 0.7));
				await().atMost(PATIENCE)
					.pollInterval(Duration.ofMillis(20))
					.until(() -> Kafka.lag(this.topic, this.topic) <= left);
				parked += parked();
				processes.kill();
				processes.start();
			}
			await().atMost(PATIENCE.multipliedBy(2)).untilAsserted(() -> {
				assertThat(Kafka.lag(this.topic, this.topic)).isZero();
				assertThat(parked()).isZero();
			});
			check(mode, parked, processes.killed());
		}
	}

	private int parked() {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record_parked", Integer.class);
	}

	private void send() {
		List<ProducerRecord<String, String>> records = new ArrayList<>();
		for (int i = 0; i < RECORDS; i++) {
			int account = this.random.nextInt(ACCOUNTS);
			String name = "a" + account;
			int number = this.numbers.merge(name, 1, Integer::sum);
			ProducerRecord<String, String> record = new ProducerRecord<>(this.topic, account % PARTITIONS, name,
					String.valueOf(number));
			record.headers().add(Kafka.KEY_HEADER, (name + "-" + number).getBytes());
			records.add(record);
			if (i % 20 == 0) {
				block(IdempotencyKey.of(this.topic + "/" + this.topic, name + "-" + number));
			}
		}
		records.forEach(Kafka::sendSoon);
	}

	// Another owner, whose lease expires after some seconds.
	private void block(IdempotencyKey key) {
		this.jdbc.update(
				"INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, token, lease_until, "
						+ "created_at, expires_at) VALUES (?, ?, ?, 'P', 1, 1, gen_random_uuid(), "
						+ "clock_timestamp() + ? * interval '1 ms', now(), now() + interval '1 day')",
				key.id(), key.scope(), key.value(), this.random.nextInt(3000, 9000));
	}

	private void check(Mode mode, int parked, Set<Long> killed) {
		Map<String, List<Effect>> effects = this.jdbc
			.query("SELECT account, number, process FROM effect ORDER BY position",
					(row, index) -> new Effect(row.getString(1), row.getInt(2), row.getLong(3)))
			.stream()
			.collect(Collectors.groupingBy(Effect::account));
		int doubled = 0;
		for (Map.Entry<String, Integer> account : this.numbers.entrySet()) {
			Set<Integer> first = new LinkedHashSet<>();
			Map<Integer, Long> processes = new HashMap<>();
			for (Effect effect : effects.getOrDefault(account.getKey(), List.of())) {
				Long earlier = processes.put(effect.number(), effect.process());
				if (earlier != null) {
					doubled++;
					assertThat(killed).as("the first effect is of a killed process").contains(earlier);
				}
				first.add(effect.number());
			}
			assertThat(first).as("first effects of " + account.getKey()).hasSize(account.getValue());
			assertThat(List.copyOf(first)).isSorted();
		}
		System.out.printf("Parking, %s: %d records of %d message keys, killed %d processes with %d parked records, "
				+ "%d doubled%n", mode, ROUNDS * RECORDS, ACCOUNTS, killed.size(), parked, doubled);
		assertThat(doubled).isLessThanOrEqualTo((mode == Mode.TRANSACTIONAL) ? 0 : 3 * killed.size());
	}

	/**
	 * The effect of a record.
	 *
	 * @param account the message key
	 * @param number the number of the record
	 * @param process the process
	 */
	private record Effect(String account, int number, long process) {

	}

}
