package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * A handler that does nothing, beside a listener that does nothing.
 */
class EmptyListeners {

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void protectedNothing(ConsumerRecord<String, String> record) {
	}

	/**
	 * In a bean of its own, which no proxy surrounds.
	 */
	static class Limit {

		@BenchmarkListener(BenchmarkListener.LIMIT)
		void nothing(ConsumerRecord<String, String> record) {
		}

	}

}
