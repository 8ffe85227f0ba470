package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;

import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Sends three records to each point of a shape. A first process stops at all points and
 * is killed, and a second process takes over.
 */
final class CrashRun implements AutoCloseable {

	static final Duration LEASE = Duration.ofSeconds(8);

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final String topic = Servers.unique("crash");

	private final String database = Servers.newDatabase();

	private final CrashEffects effects = new CrashEffects(Servers.jdbc(this.database));

	private final CrashShape shape;

	private @Nullable ConfigurableApplicationContext second;

	private @Nullable Duration takeover;

	CrashRun(CrashShape shape) {
		this.shape = shape;
	}

	void killTheFirstProcessAndStartTheSecond() {
		for (String point : this.shape.points()) {
			Servers.addTopics(1, topic(point));
			List.of("first", "second", "third").forEach((key) -> Kafka.send(topic(point), key, key));
		}
		this.effects.create();
		// Long enough that a slow machine does not end the session of the first process.
		// That of the second one is longer: its records would run again.
		try (ChildProcess first = app().with("crash", true)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 5000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000)
			.fork()) {
			await().atMost(PATIENCE)
				.untilAsserted(() -> assertThat(first.lines()).containsAll(this.shape.linesBeforeCrash()));
		}
		long killed = System.nanoTime();
		this.second = app().run();
		this.shape.points().forEach(this::awaitConsumed);
		this.takeover = Duration.ofNanos(System.nanoTime() - killed);
	}

	// Sends a copy of a record to the second process.
	void sendAgain(String point, String value) {
		Kafka.send(topic(point), value, value);
		awaitConsumed(point);
	}

	private void awaitConsumed(String point) {
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(Kafka.lag(topic(point), topic(point))).as(point).isZero());
	}

	private TestApp app() {
		return this.shape.configure(TestApp.of(CrashingApp.class, this.shape.listeners()))
			.database(this.database)
			.with("topic", this.topic)
			.with("lease", LEASE.toSeconds() + "s");
	}

	String topic(String point) {
		return this.topic + "-" + point;
	}

	CrashEffects effects() {
		return this.effects;
	}

	Duration takeover() {
		return this.takeover;
	}

	@Override
	public void close() {
		if (this.second != null) {
			this.second.close();
		}
	}

}
