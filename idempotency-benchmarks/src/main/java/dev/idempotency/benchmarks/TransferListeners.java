package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * A business transaction of two statements.
 */
class TransferListeners {

	private static final int ACCOUNTS = 10_000;

	private static final String UPDATE = "UPDATE account SET balance = balance + ? WHERE id = ?";

	private static final String INSERT = "INSERT INTO ledger (account, amount, payment) VALUES (?, ?, ?)";

	private final JdbcTemplate jdbc;

	TransferListeners(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
		jdbc.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)");
		jdbc.execute("CREATE TABLE ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
				+ "account int NOT NULL, amount int NOT NULL, payment text NOT NULL)");
		jdbc.update("INSERT INTO account SELECT i, 0 FROM generate_series(0, ?) i", ACCOUNTS - 1);
		jdbc.execute("ANALYZE account");
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Transactional
	void unprotectedTransfer(ConsumerRecord<String, String> record) {
		transfer(Workload.key(record));
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.TRANSACTIONAL)
	@Transactional
	void protectedTransfer(ConsumerRecord<String, String> record) {
		transfer(Workload.key(record));
	}

	private void transfer(String payment) {
		int account = Math.floorMod(payment.hashCode(), ACCOUNTS);
		this.jdbc.update(UPDATE, 5, account);
		this.jdbc.update(INSERT, account, 5, payment);
	}

}
