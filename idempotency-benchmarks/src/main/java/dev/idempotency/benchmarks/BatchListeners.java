package dev.idempotency.benchmarks;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * Handlers that do nothing, one for batches and one for single records.
 */
class BatchListeners {

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Idempotent(mode = Mode.LEASED)
	void single(ConsumerRecord<String, String> record) {
	}

	@BenchmarkListener(value = BenchmarkListener.PROTECTED, batch = "true")
	@Idempotent(mode = Mode.LEASED)
	void batch(List<ConsumerRecord<String, String>> records) {
	}

}
