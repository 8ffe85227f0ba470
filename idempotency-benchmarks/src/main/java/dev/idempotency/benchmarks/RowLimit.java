package dev.idempotency.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;

import javax.sql.DataSource;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.store.IdempotencyStore;

/**
 * Runs bare statements with the JDBC driver on a table like that of the store.
 */
final class RowLimit {

	private static final String INSERT = """
			INSERT INTO bare_record
			  (id, scope, key, state, fence, attempt, token, lease_until, created_at, expires_at)
			VALUES (?, 'bare', ?, 'P', 1, 1, ?, clock_timestamp() + interval '1 minute', clock_timestamp(),
			  clock_timestamp() + interval '7 days')""";

	private static final String COMPLETE = "UPDATE bare_record SET state = 'C', lease_until = NULL WHERE id = ?";

	private static final String SELECT = "SELECT state, result FROM bare_record WHERE id = ?";

	private final DataSource dataSource;

	// Created after the store has created its table.
	RowLimit(DataSource dataSource, IdempotencyStore store) {
		this.dataSource = dataSource;
		new JdbcTemplate(dataSource).execute("CREATE TABLE bare_record (LIKE idempotency_record INCLUDING ALL)");
	}

	void insert(UUID id, String key) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(INSERT)) {
			statement.setObject(1, id);
			statement.setString(2, key);
			statement.setObject(3, id);
			statement.executeUpdate();
		}
	}

	void complete(UUID id) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(COMPLETE)) {
			statement.setObject(1, id);
			if (statement.executeUpdate() != 1) {
				throw new IllegalStateException("The row does not exist");
			}
		}
	}

	void select(UUID id) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(SELECT)) {
			statement.setObject(1, id);
			try (ResultSet row = statement.executeQuery()) {
				if (!row.next() || !"C".equals(row.getString(1)) || row.getBytes(2) != null) {
					throw new IllegalStateException("The row does not exist");
				}
			}
		}
	}

}
