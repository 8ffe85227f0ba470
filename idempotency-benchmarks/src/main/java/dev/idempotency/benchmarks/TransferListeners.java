package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * Handlers that run a business transaction of two statements.
 */
class TransferListeners {

	private final Transfers transfers;

	TransferListeners(JdbcTemplate jdbc) {
		this.transfers = new Transfers(jdbc);
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Transactional
	void unprotectedTransfer(ConsumerRecord<String, String> record) {
		this.transfers.transfer(Workload.key(record));
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.TRANSACTIONAL)
	@Transactional
	void protectedTransfer(ConsumerRecord<String, String> record) {
		this.transfers.transfer(Workload.key(record));
	}

}
