package dev.idempotency.listener;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.Kafka;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a consumer process that is killed, with Boot's default error handler: a first
 * process stops dead at six points, is killed, and a second takes over.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CrashTests {

	private static final List<String> POINTS = List.of("transactional-running", "transactional-before-commit",
			"transactional-after-commit", "leased-running", "leased-after-effect", "leased-after-completion");

	private static final Duration LEASE = Duration.ofSeconds(8);

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext second;

	private Duration takeover;

	@BeforeAll
	void killTheFirstProcessAndStartTheSecond() throws Exception {
		String topic = Servers.unique("crash");
		for (String point : POINTS) {
			Servers.addTopics(1, topic + "-" + point);
			List.of("first", "second", "third").forEach((key) -> Kafka.send(topic + "-" + point, key, key));
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.jdbc.execute(
				"CREATE TABLE effect (name text, value text, fence int, at timestamptz DEFAULT clock_timestamp())");
		Process first = app(database, topic).with("crash", true).fork();
		awaitPoints(first);
		first.destroyForcibly().waitFor();
		long killed = System.nanoTime();
		this.second = app(database, topic).run();
		await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
			for (String point : POINTS) {
				assertThat(Kafka.lag(topic + "-" + point, topic + "-" + point)).as(point).isZero();
			}
		});
		this.takeover = Duration.ofNanos(System.nanoTime() - killed);
	}

	private static TestApp app(String database, String topic) {
		return TestApp.of(CrashingApp.class)
			.database(database)
			.with("topic", topic)
			.with("lease", LEASE.toSeconds() + "s")
			.with("spring.kafka.consumer.properties.session.timeout.ms", 1500)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 500);
	}

	private static void awaitPoints(Process process) {
		Set<String> reached = ConcurrentHashMap.newKeySet();
		Thread reader = new Thread(() -> {
			try (BufferedReader output = process.inputReader()) {
				output.lines()
					.filter((line) -> line.startsWith("REACHED "))
					.forEach((line) -> reached.add(line.substring(8)));
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		});
		reader.setDaemon(true);
		reader.start();
		await().atMost(90, TimeUnit.SECONDS)
			.untilAsserted(() -> assertThat(reached).containsExactlyInAnyOrderElementsOf(POINTS));
	}

	@AfterAll
	void stop() {
		if (this.second != null) {
			this.second.close();
		}
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void killedWhileATransactionalHandlerRunsItsEffectHappensOnce() {
		assertThat(effects("transactional-running")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	void killedBetweenHandlerAndCommitTheEffectHappensOnce() {
		assertThat(effects("transactional-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-3")
	void killedBetweenCommitAndOffsetTheEffectHappensOnce() {
		assertThat(effects("transactional-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void killedBeforeTheEffectOfALeasedHandlerTheRecordIsTakenOver() {
		assertThat(effects("leased-running")).containsExactly("first", "second", "third");
		assertThat(fences("leased-running")).containsExactly(2, 1, 1);
	}

	// The window of leased mode: the fence tells the second execution from the first.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void killedBetweenEffectAndCompletionALeasedHandlerRunsAgainWithTheNextFence() {
		assertThat(effects("leased-after-effect")).containsExactly("first", "first", "second", "third");
		assertThat(fences("leased-after-effect")).containsExactly(1, 2, 1, 1);
	}

	@Test
	@Tag("promise-3")
	void killedBetweenCompletionAndOffsetALeasedHandlerDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactly("first", "second", "third");
	}

	// The session time-out of the dead consumer, the lease, and one round of waiting.
	@Test
	@Tag("promise-7")
	void aCrashedOwnerIsReplacedAtMostOneLeaseLater() {
		assertThat(this.takeover).isLessThan(LEASE.plusSeconds(12));
	}

	private List<String> effects(String point) {
		return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY at", String.class, point);
	}

	private List<Integer> fences(String point) {
		return this.jdbc.queryForList("SELECT fence FROM effect WHERE name = ? ORDER BY at", Integer.class, point);
	}

}
