package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.ParkedPartition;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;

/**
 * Parked records, in a table beside that of the records. The row of a partition's owner
 * is locked while a record of the partition is parked, so that a consumer that has lost
 * the partition parks nothing after the next one has read the parked records.
 */
final class JdbcParkedRecords implements ParkedRecords {

	private final JdbcExecutor executor;

	private final OptionalTables tables;

	private final ParkedSql sql;

	private final Duration timeout;

	JdbcParkedRecords(JdbcExecutor executor, OptionalTables tables, ParkedSql sql, Duration timeout) {
		this.executor = executor;
		this.tables = tables;
		this.sql = sql;
		this.timeout = timeout;
	}

	@Override
	public @Nullable String problem() {
		return this.tables.problem();
	}

	@Override
	public List<Waiting> takeOver(ParkedPartition partition, UUID owner) {
		Parameters parameters = Parameters.of("id", partition.id())
			.with("scope", partition.scope())
			.with("topic", partition.topic())
			.with("partition", partition.partition())
			.with("owner", owner);
		this.executor.autonomous(this.timeout, (connection) -> this.sql.own().update(connection, parameters));
		// A record that was parked before the update is visible only to a later snapshot.
		return this.executor.autonomous(this.timeout,
				(connection) -> this.sql.waiting()
					.query(connection, Parameters.of("id", partition.id()),
							(row) -> new Waiting(uuid(row, "id"), row.getLong("record_offset"),
									row.getBytes("message_key"), row.getBytes("headers"), time(row, "parked_at"))));
	}

	@Override
	public boolean park(ParkedRecord record, UUID owner) {
		return this.executor.inNewTransaction(this.timeout, (connection) -> park(connection, record, owner));
	}

	private boolean park(Connection connection, ParkedRecord record, UUID owner) throws SQLException {
		ParkedPartition partition = record.partition();
		UUID current = this.sql.owner()
			.first(connection, Parameters.of("id", partition.id()), (row) -> uuid(row, "owner"))
			.orElse(null);
		if (!owner.equals(current)) {
			return false;
		}
		Parameters id = Parameters.of("id", record.id());
		if (this.sql.exists().first(connection, id, (row) -> row.getInt(1)).isEmpty()) {
			this.sql.insert()
				.update(connection,
						Parameters.of("id", record.id())
							.with("partitionid", partition.id())
							.with("scope", partition.scope())
							.with("topic", partition.topic())
							.with("partition", partition.partition())
							.with("offset", record.offset())
							.with("timestamp", record.timestamp())
							.with("type", record.timestampType())
							.with("key", record.key())
							.with("headers", record.headers())
							.with("value", record.value()));
		}
		return true;
	}

	@Override
	public Optional<ParkedRecord> find(UUID id) {
		return this.executor.autonomous(this.timeout, (connection) -> this.sql.find()
			.first(connection, Parameters.of("id", id),
					(row) -> new ParkedRecord(
							new ParkedPartition(row.getString("scope"), row.getString("topic"),
									row.getInt("topic_partition")),
							row.getLong("record_offset"), row.getLong("record_timestamp"), row.getInt("timestamp_type"),
							row.getBytes("message_key"), row.getBytes("headers"), row.getBytes("message_value"))));
	}

	@Override
	public void countAttempt(UUID id) {
		this.executor.autonomous(this.timeout,
				(connection) -> this.sql.count().update(connection, Parameters.of("id", id)));
	}

	@Override
	public void remove(UUID id) {
		this.executor.autonomous(this.timeout,
				(connection) -> this.sql.delete().update(connection, Parameters.of("id", id)));
	}

	@Override
	public List<Summary> summaries() {
		return this.executor.autonomous(this.timeout,
				(connection) -> this.sql.summaries()
					.query(connection, Parameters.none(),
							(row) -> new Summary(row.getString("scope"), row.getLong("records"), time(row, "oldest"))));
	}

	@Override
	public List<StoredRecord> list(int limit) {
		return this.executor.autonomous(this.timeout,
				(connection) -> this.sql.list()
					.query(connection, Parameters.of("limit", limit),
							(row) -> new StoredRecord(row.getString("scope"), row.getString("topic"),
									row.getInt("topic_partition"), row.getLong("record_offset"),
									row.getBytes("message_key"), row.getInt("attempts"), time(row, "parked_at"))));
	}

	private UUID uuid(ResultSet row, String column) throws SQLException {
		return Objects.requireNonNull(this.sql.types().uuid(row, column));
	}

	private Instant time(ResultSet row, String column) throws SQLException {
		return Objects.requireNonNull(this.sql.types().time(row, row.findColumn(column))).toInstant();
	}

}
