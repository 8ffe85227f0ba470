package dev.idempotency.jdbc;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what the statements of a relay read when there is much that they do not want:
 * a round must not become slower with the backlog.
 */
class OutboxPlanTests {

	private static final TableName TABLE = TableName.of("idempotency_outbox");

	private static final int ROWS = 20_000;

	// Blocks of 8 kB; all the rows are in about 1,800.
	private static final int FEW = 1000;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final OutboxSql sql = new PostgresOutboxSql(TABLE);

	private void fill(boolean published) {
		this.database.jdbc()
			.update("""
					INSERT INTO idempotency_outbox (id, lane, aggregatetype, aggregateid, type, topic, message_key, payload,
					  idempotency_key, published_at)
					SELECT gen_random_uuid(), i %% 64, 'account', '1', 'charged', 'topic', convert_to('key' || i %% 1000, 'UTF8'),
					  convert_to(repeat('x', 200), 'UTF8'), i, %s FROM generate_series(1, ?) i"""
				.formatted(published ? "now()" : "NULL"), ROWS);
	}

	private int blocks(String statement, String... parameters) {
		String text = statement;
		for (String parameter : parameters) {
			text = text.replaceFirst("\\?", parameter);
		}
		String answer = this.database.jdbc()
			.queryForObject("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + text, String.class);
		JsonNode plan = JsonMapper.shared().readTree(answer).path(0).path("Plan");
		return plan.path("Shared Hit Blocks").asInt() + plan.path("Shared Read Blocks").asInt();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsLittleHoweverMuchWaitsOrIsPublished(boolean analyzed) {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), TABLE);
		fill(true);
		fill(false);
		if (analyzed) {
			this.database.jdbc().execute("ANALYZE idempotency_outbox");
		}
		String lanes = "'{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}'::smallint[]";
		assertThat(blocks(this.sql.lockLanes(), "'{}'::text[]", "32")).isLessThan(FEW);
		assertThat(blocks(this.sql.rows(), lanes, "'{}'::text[]", "8")).isLessThan(FEW);
	}

}
