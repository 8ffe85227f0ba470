package dev.idempotency.storm;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.testsupport.ForkedApp;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Processes that consume the payments of a topic in one group.
 */
final class PaymentProcesses implements AutoCloseable {

	static final int THREADS = 4;

	// The exit code of a JVM that has run its shutdown hooks after a signal.
	private static final int TERMINATED = 128 + 15;

	private static final Duration PATIENCE = Duration.ofMinutes(5);

	private final String topic = Servers.newTopic("payments", PaymentTraffic.PARTITIONS);

	private final Shape shape;

	private final Store store;

	private final Random random;

	private final TestApp app;

	private final JdbcTemplate jdbc;

	private final List<ForkedApp> all = new ArrayList<>();

	private final List<ForkedApp> running = new ArrayList<>();

	private final List<ForkedApp> terminated = new ArrayList<>();

	private final Set<Long> killed = new HashSet<>();

	PaymentProcesses(Shape shape, Store store, Random random) {
		this.shape = shape;
		this.store = store;
		this.random = random;
		String database = store.newDatabase();
		this.jdbc = store.jdbc(database);
		ChargeLog.create(this.jdbc);
		this.app = shape.configure(store.configure(TestApp.of(PaymentApp.class)))
			.database(database)
			.with("topic", this.topic)
			.with("idempotency.lease", "5s")
			.with("spring.kafka.listener.concurrency", THREADS)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 3000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000);
	}

	String topic() {
		return this.topic;
	}

	String name() {
		return this.shape + ", " + this.store;
	}

	void add() throws IOException {
		ForkedApp process = this.app.forkApp();
		this.all.add(process);
		this.running.add(process);
	}

	void awaitStart() {
		this.running.forEach((process) -> process.awaitLine(PaymentApp.STARTED));
	}

	// Kills a process without running its shutdown hooks.
	void kill() {
		ForkedApp process = one();
		process.kill();
		this.killed.add(process.pid());
		this.running.remove(process);
	}

	// Stops a process regularly, as a rolling update does.
	void terminate() {
		terminate(one());
	}

	private void terminate(ForkedApp process) {
		process.terminate();
		this.terminated.add(process);
		this.running.remove(process);
	}

	void restartContainers() {
		ForkedApp process = one();
		process.tell(PaymentApp.STOP);
		process.tell(PaymentApp.START);
	}

	private ForkedApp one() {
		List<ForkedApp> started = this.running.stream()
			.filter((process) -> process.lines().contains(PaymentApp.STARTED))
			.toList();
		if (started.isEmpty()) {
			awaitStart();
			return this.running.get(0);
		}
		return started.get(this.random.nextInt(started.size()));
	}

	Set<Long> killed() {
		return this.killed;
	}

	int added() {
		return this.all.size();
	}

	long rebalances() {
		return this.all.stream()
			.flatMap((process) -> process.lines().stream())
			.filter((line) -> line.startsWith(PaymentApp.GENERATION))
			.distinct()
			.count();
	}

	long lag() {
		return Kafka.lag(this.topic, this.topic);
	}

	// Waits until the lag does not exceed the given number of records.
	void awaitLag(long lag) {
		await().atMost(PATIENCE).pollInterval(Duration.ofMillis(10)).until(() -> lag() <= lag);
	}

	// Waits for the end of consumption, stops all processes and returns the charges.
	Charges end() {
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(lag()).isZero());
		List.copyOf(this.running).forEach(this::terminate);
		assertThat(this.terminated).allMatch((process) -> process.awaitEnd() == TERMINATED);
		return new Charges(this.shape.charges(this.topic, this.jdbc));
	}

	void assertRepeatedOnlyByKilledProcesses(Charges charges) {
		charges.assertRepeatedOnlyByKilledProcesses(this.killed, THREADS * this.shape.openPerThread(),
				this.shape.window());
	}

	@Override
	public void close() {
		this.all.forEach(ForkedApp::close);
	}

}
