package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.List;

import dev.idempotency.test.TestApp;

/**
 * How the records of {@link CrashingApp} are handled.
 */
enum CrashShape {

	/**
	 * One by one.
	 */
	RECORD(RecordCrashListeners.class, "first", "transactional-running", "transactional-before-commit",
			"transactional-after-commit", "leased-running", "leased-after-effect", "leased-after-completion"),

	/**
	 * All in one batch: running means in the middle of it.
	 */
	BATCH(BatchCrashListeners.class, "third", "transactional-running", "transactional-before-commit",
			"transactional-after-commit", "leased-before-effect", "leased-running", "leased-after-effect",
			CrashingApp.AFTER_COMPLETION),

	/**
	 * One by one, by another thread: the second and the third are done while the first is
	 * stuck.
	 */
	ASYNC(AsyncCrashListeners.class, "first", "leased-running", "leased-after-effect", CrashingApp.AFTER_COMPLETION) {

		@Override
		List<String> linesBeforeCrash() {
			List<String> lines = new ArrayList<>(super.linesBeforeCrash());
			points().forEach((point) -> {
				lines.add(CrashingApp.PROCESSED + point + " second");
				lines.add(CrashingApp.PROCESSED + point + " third");
			});
			return lines;
		}

	},

	/**
	 * One by one, in a transaction of Kafka.
	 */
	KAFKA_TRANSACTION(KafkaTransactionCrashListeners.class, "first", "leased-running", "leased-after-effect",
			"leased-before-commit", "leased-after-commit", CrashingApp.AFTER_COMPLETION) {

		@Override
		TestApp configure(TestApp app) {
			// The producer that was killed must not hold its transactions open for the
			// default minute.
			return super.configure(app).with("spring.kafka.producer.transaction-id-prefix", "${random.uuid}-")
				.with("spring.kafka.producer.properties.transaction.timeout.ms", 5000);
		}

	};

	private final Class<?> listeners;

	private final String lastCompleted;

	private final List<String> points;

	CrashShape(Class<?> listeners, String lastCompleted, String... points) {
		this.listeners = listeners;
		this.lastCompleted = lastCompleted;
		this.points = List.of(points);
	}

	Class<?> listeners() {
		return this.listeners;
	}

	// The record whose completion is the last before the crash.
	String lastCompleted() {
		return this.lastCompleted;
	}

	List<String> points() {
		return this.points;
	}

	// What the first process says before it is killed.
	List<String> linesBeforeCrash() {
		return this.points.stream().map((point) -> CrashPoint.REACHED + point).toList();
	}

	TestApp configure(TestApp app) {
		return app.with("shape", name());
	}

}
