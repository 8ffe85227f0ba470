package dev.idempotency.storm;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.Kafka;
import dev.idempotency.test.TestApp;

/**
 * How payments are handled.
 */
enum Shape {

	/**
	 * One by one, leased.
	 */
	RECORD(PaymentListeners.ByRecord.class),

	/**
	 * One by one, in a transaction of the database.
	 */
	TRANSACTIONAL(PaymentListeners.Transactional.class),

	/**
	 * A batch at a time, leased.
	 */
	BATCH(PaymentListeners.Batch.class) {

		@Override
		int openPerThread() {
			return MAX_POLL_RECORDS;
		}

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * A batch at a time, in a transaction of the database.
	 */
	BATCH_TRANSACTIONAL(PaymentListeners.TransactionalBatch.class) {

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * One by one, leased, by other threads.
	 */
	ASYNC(PaymentListeners.Async.class) {

		@Override
		int openPerThread() {
			return MAX_POLL_RECORDS;
		}

	},

	/**
	 * One by one, leased, in a transaction of Kafka.
	 */
	KAFKA_TRANSACTION(PaymentListeners.KafkaTransaction.class) {

		@Override
		TestApp configure(TestApp app) {
			// A killed producer must not hold its transactions open for the default
			// minute.
			return super.configure(app).with("spring.kafka.producer.transaction-id-prefix", "${random.uuid}-")
				.with("spring.kafka.producer.properties.transaction.timeout.ms", 5000);
		}

		@Override
		String window() {
			return "the Kafka transaction was committed, but the process was killed before it recorded the completion";
		}

		@Override
		List<Charge> charges(String topic, JdbcTemplate jdbc) {
			return Kafka.readCommitted(PaymentListeners.output(topic))
				.stream()
				.map(ConsumerRecord::value)
				.map(Charge::parse)
				.toList();
		}

	};

	// Small, for an eager rebalance waits for the records of a poll.
	static final int MAX_POLL_RECORDS = 50;

	private static final int BATCH_SPEED = 5;

	private final Class<?> listener;

	Shape(Class<?> listener) {
		this.listener = listener;
	}

	Class<?> listener() {
		return this.listener;
	}

	TestApp configure(TestApp app) {
		return app.with("shape", name()).with("spring.kafka.consumer.max-poll-records", MAX_POLL_RECORDS);
	}

	List<Charge> charges(String topic, JdbcTemplate jdbc) {
		return ChargeLog.read(jdbc);
	}

	// How many payments a consumer thread may have charged but not completed.
	int openPerThread() {
		return 1;
	}

	// Why a payment may be charged again.
	String window() {
		return "the payment was charged, but the process was killed before it recorded the completion";
	}

	// How many payments it takes to be killed among them, compared to one by one.
	int speed() {
		return 1;
	}

}
