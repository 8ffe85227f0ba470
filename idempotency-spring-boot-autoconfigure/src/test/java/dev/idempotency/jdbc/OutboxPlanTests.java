package dev.idempotency.jdbc;

import java.util.Set;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.jdbc.OutboxSql.Claims;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what the statements of a relay read when there is much that they do not want:
 * a round must not become slower with the backlog.
 */
class OutboxPlanTests {

	private static final TableName TABLE = TableName.of("idempotency_outbox");

	private static final int ROWS = 20_000;

	// Of messages that are set aside.
	private static final int KEYS = 2000;

	// Blocks of 8 kB; all the rows are in about 1,800.
	private static final int FEW = 1000;

	private static final String LANES = "'{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}'::smallint[]";

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final OutboxSql sql = new PostgresOutboxSql(TABLE);

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), TABLE);
	}

	private void fill(boolean published) {
		this.database.jdbc()
			.update("""
					INSERT INTO idempotency_outbox (id, lane, aggregatetype, aggregateid, type, topic, message_key, payload,
					  idempotency_key, published_at)
					SELECT gen_random_uuid(), i %% 64, 'account', '1', 'charged', 'topic', convert_to('key' || i %% 1000, 'UTF8'),
					  convert_to(repeat('x', 200), 'UTF8'), i, %s FROM generate_series(1, ?) i"""
				.formatted(published ? "now()" : "NULL"), ROWS);
	}

	private void vacuum(boolean analyze) {
		this.database.jdbc().execute("VACUUM " + (analyze ? "ANALYZE " : "") + TABLE);
	}

	private JsonNode plan(String statement, String... parameters) {
		String text = statement;
		for (String parameter : parameters) {
			text = text.replaceFirst("\\?", parameter);
		}
		String answer = this.database.jdbc()
			.queryForObject("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + text, String.class);
		return JsonMapper.shared().readTree(answer).path(0).path("Plan");
	}

	private int blocks(String statement, String... parameters) {
		JsonNode plan = plan(statement, parameters);
		return plan.path("Shared Hit Blocks").asInt() + plan.path("Shared Read Blocks").asInt();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsLittleHoweverMuchWaitsOrIsPublished(boolean analyzed) {
		fill(true);
		fill(false);
		if (analyzed) {
			this.database.jdbc().execute("ANALYZE idempotency_outbox");
		}
		Claims all = this.sql.claims(Set.of());
		assertThat(blocks(all.lockLanes(), "32")).isLessThan(FEW);
		assertThat(blocks(all.rows(), LANES, "8")).isLessThan(FEW);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsLittleHoweverMuchIsLeftOut(boolean analyzed) {
		fill(false);
		this.database.jdbc().update("UPDATE idempotency_outbox SET topic = 'wanted' WHERE position % 100 = 99");
		vacuum(analyzed);
		Claims some = this.sql.claims(Set.of("topic"));
		assertThat(blocks(some.lockLanes(), "'{topic}'::text[]", "32")).isLessThan(FEW);
		assertThat(blocks(some.rows(), LANES, "'{topic}'::text[]", "8", "8")).isLessThan(FEW);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void whatIsRefusedIsNotComparedWithAllThatWaits(boolean analyzed) {
		fill(false);
		// A lane of a thousand keys, whose first messages are refused and hold up the
		// others.
		this.database.jdbc().update("UPDATE idempotency_outbox SET lane = 1");
		this.database.jdbc()
			.update("UPDATE idempotency_outbox SET next_attempt_at = now() + interval '1 h' WHERE position <= 1000");
		vacuum(analyzed);
		assertThat(compared(plan(this.sql.claims(Set.of()).lockLanes(), "32"))).isLessThan(ROWS);
	}

	// Thousands of keys are blocked, with all that waits behind them.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void roundReadsLittleHoweverMuchIsBlocked(boolean analyzed) {
		fill(false);
		this.database.jdbc()
			.update("""
					UPDATE idempotency_outbox SET message_key = convert_to('key' || (position %% %d), 'UTF8'), lane = position %% 64
					"""
				.formatted(KEYS));
		this.database.jdbc()
			.update("UPDATE idempotency_outbox SET set_aside_at = now(), next_attempt_at = now() WHERE position <= ?",
					KEYS);
		this.database.jdbc().update("""
				UPDATE idempotency_outbox o SET set_aside_at = now(), next_attempt_at = now(), blocked_by = f.id
				FROM idempotency_outbox f WHERE f.position <= ? AND f.message_key = o.message_key
				  AND o.position BETWEEN ? AND ?""", KEYS, KEYS + 1, ROWS - 100);
		vacuum(analyzed);
		Claims all = this.sql.claims(Set.of());
		assertThat(blocks(all.lockLanes(), "32")).isLessThan(FEW);
		JsonNode rows = plan(all.rows(), LANES, "8");
		assertThat(rows.path("Actual Rows").asInt()).isPositive();
		assertThat(blocks(all.rows(), LANES, "8")).isLessThan(FEW);
		// One look for each blocker.
		assertThat(blocks(this.sql.unblock(), "1000")).isLessThan(30 * KEYS);
	}

	private static int compared(JsonNode plan) {
		return plan.path("Rows Removed by Join Filter").asInt() * Math.max(1, plan.path("Actual Loops").asInt())
				+ plan.path("Plans").valueStream().mapToInt(OutboxPlanTests::compared).sum();
	}

}
