package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;

/**
 * The records of a table, for people. A list looks at the records that expire last, and
 * its position leads to those before.
 */
final class JdbcRecords implements IdempotencyRecords {

	private final Connections connections;

	private final String find;

	private final RecordStatements sql;

	private final TableName table;

	private final Duration timeout;

	JdbcRecords(Connections connections, String find, RecordStatements sql, TableName table, Duration timeout) {
		this.connections = connections;
		this.find = find;
		this.sql = sql;
		this.table = table;
		this.timeout = timeout;
	}

	Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return this.connections.autonomous(this.timeout, (connection) -> {
			try (PreparedStatement statement = Connections.prepare(connection, this.find, key.id());
					ResultSet row = statement.executeQuery()) {
				return row.next() ? Optional.of(Rows.read(key, row)) : Optional.empty();
			}
		});
	}

	@Override
	public Overview overview() {
		return this.connections.autonomous(this.timeout, (connection) -> {
			Position bound = bound(connection, Position.LAST);
			List<Scope> scopes = query(connection, this.sql.overview(), JdbcRecords::scope,
					((bound != null) ? bound : Position.FIRST).parameters());
			return new Overview(scopes, bound == null, (bound != null) ? estimate(connection) : null);
		});
	}

	private static Scope scope(ResultSet row) throws SQLException {
		OffsetDateTime oldest = row.getObject("oldest", OffsetDateTime.class);
		OffsetDateTime now = Objects.requireNonNull(row.getObject("now", OffsetDateTime.class));
		return new Scope(row.getString("scope"), row.getLong("in_progress"), row.getLong("stuck"),
				row.getLong("failed"), row.getLong("completed"),
				(oldest != null) ? Duration.between(oldest, now) : null);
	}

	private @Nullable Long estimate(Connection connection) throws SQLException {
		if (this.sql.estimate().isEmpty()) {
			return null;
		}
		String name = this.table.toString();
		return query(connection, this.sql.estimate(), (row) -> {
			long estimate = row.getLong(1);
			return row.wasNull() ? Optional.<Long>empty() : Optional.of(estimate);
		}, name, name).get(0).orElse(null);
	}

	private @Nullable Position bound(Connection connection, Position after) throws SQLException {
		Object[] parameters = Stream.concat(Stream.of(after.parameters()), Stream.of(WINDOW - 1)).toArray();
		List<Position> bound = query(connection, this.sql.bound(), Position::of, parameters);
		return bound.isEmpty() ? null : bound.get(0);
	}

	@Override
	public Page stuck(int limit, @Nullable String after) {
		return list(this.sql.stuck(), limit, after);
	}

	@Override
	public Page failed(int limit, @Nullable String after) {
		return list(this.sql.failed(), limit, after);
	}

	private Page list(String statement, int limit, @Nullable String after) {
		Position start = Position.parse(after);
		return this.connections.autonomous(this.timeout, (connection) -> {
			Position bound = bound(connection, start);
			Object[] parameters = Stream
				.of(start.parameters(), ((bound != null) ? bound : Position.FIRST).parameters(),
						new Object[] { limit + 1 })
				.flatMap(Stream::of)
				.toArray();
			List<Listed> found = query(connection, statement, Listed::of, parameters);
			Position next = (found.size() > limit) ? found.get(limit - 1).position() : bound;
			return new Page(found.stream().limit(limit).map(Listed::record).toList(), next == null,
					(next != null) ? next.toString() : null);
		});
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return this.connections.autonomous(this.timeout,
				(connection) -> query(connection, this.sql.result(), (row) -> Optional.ofNullable(row.getBytes(1)),
						key.id())
					.stream()
					.flatMap(Optional::stream)
					.findFirst());
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(this.sql.release(), key, force);
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(this.sql.evict(), key, force);
	}

	// The number of rows decides; the look afterwards only says why there was none.
	private Change change(String statement, IdempotencyKey key, boolean force) {
		return this.connections.autonomous(this.timeout, (connection) -> {
			try (PreparedStatement update = Connections.prepare(connection, statement, key.id(), force)) {
				if (update.executeUpdate() > 0) {
					return Change.DONE;
				}
			}
			return query(connection, this.sql.state(), (row) -> row.getString(1), key.id()).stream()
				.findFirst()
				.map((state) -> "C".equals(state) ? Change.COMPLETED : Change.ALIVE)
				.orElse(Change.ABSENT);
		});
	}

	private static <T> List<T> query(Connection connection, String sql, Reader<T> reader,
			@Nullable Object... parameters) throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet rows = statement.executeQuery()) {
			List<T> read = new ArrayList<>();
			while (rows.next()) {
				read.add(reader.read(rows));
			}
			return read;
		}
	}

	/**
	 * Reads a row.
	 *
	 * @param <T> the type of what it holds
	 */
	private interface Reader<T> {

		T read(ResultSet row) throws SQLException;

	}

	/**
	 * A record and where it is.
	 *
	 * @param record the record
	 * @param position where it is
	 */
	private record Listed(IdempotencyRecord record, Position position) {

		static Listed of(ResultSet row) throws SQLException {
			IdempotencyKey key = IdempotencyKey.of(row.getString("scope"), row.getString("key"));
			return new Listed(Rows.read(key, row), Position.of(row));
		}

	}

}
