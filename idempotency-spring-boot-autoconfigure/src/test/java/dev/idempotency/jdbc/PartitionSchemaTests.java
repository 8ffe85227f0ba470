package dev.idempotency.jdbc;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for the schema of a partitioned table and the conversion of a single table.
 */
class PartitionSchemaTests {

	private static final String TABLE = "records";

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	@BeforeEach
	void createDatabase() {
		String url = Servers.newDatabase();
		this.pool = Servers.pool(url);
		this.jdbc = Servers.jdbc(url);
	}

	@AfterEach
	void closePool() {
		this.pool.close();
	}

	private void migrate(Layout layout) {
		JdbcSchemaMigration.migrate(this.pool, TABLE, layout);
	}

	private void convert() {
		JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED, true);
	}

	private JdbcIdempotencyStore store(String table, Layout layout) {
		return new JdbcIdempotencyStore(this.pool, table, TestDatabase.TIMEOUT, layout,
				TestDatabase.PARTITION_INTERVAL);
	}

	@Test
	@Tag("promise-3")
	void recordsAreUnchangedAfterTheConversionOfASingleTable() {
		migrate(Layout.SINGLE);
		JdbcIdempotencyStore single = store(TABLE, Layout.SINGLE);
		ClaimRequest completed = TestDatabase.request(TestDatabase.newKey());
		ClaimRequest failed = TestDatabase.request(TestDatabase.newKey());
		ClaimRequest running = TestDatabase.request(TestDatabase.newKey());
		single.claimAll(List.of(completed, failed, running));
		single.complete(completed, new byte[] { 7 });
		single.fail(failed, new Failure("x", "y"));
		List<Map<String, Object>> before = rows();
		convert();
		assertThat(rows()).isEqualTo(before);
		JdbcIdempotencyStore partitioned = store(TABLE, Layout.PARTITIONED);
		Claim duplicate = partitioned.claim(TestDatabase.request(completed.key()));
		assertThat(((Claim.Completed) duplicate).result()).containsExactly(7);
		assertThat(partitioned.claim(TestDatabase.request(failed.key()))).isEqualTo(new Claim.Acquired(2, 2));
		assertThat(partitioned.claim(TestDatabase.request(running.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(partitioned.claim(TestDatabase.request(TestDatabase.newKey()))).isEqualTo(new Claim.Acquired(1, 1));
	}

	private List<Map<String, Object>> rows() {
		return this.jdbc.queryForList(
				"SELECT id, scope, key, state::text, fence, attempt, token, encode(result, 'hex') AS result, lease_until, "
						+ "created_at, expires_at, error_type, error_message FROM records ORDER BY id");
	}

	@Test
	void runningInstanceSettlesItsClaimsAfterTheConversionAndItsNewClaimsWait() {
		migrate(Layout.SINGLE);
		JdbcIdempotencyStore old = store(TABLE, Layout.SINGLE);
		ClaimRequest owner = TestDatabase.request(TestDatabase.newKey());
		old.claim(owner);
		convert();
		assertThat(old.renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(old.complete(owner, null)).isEqualTo(Settlement.SETTLED);
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> old.claim(TestDatabase.request(TestDatabase.newKey())));
	}

	// Rows of two partitions may have the same ctid.
	@Test
	@Tag("promise-3")
	void cleanupOfARunningInstanceDeletesNoRecordsOfOtherPartitions() {
		migrate(Layout.SINGLE);
		JdbcIdempotencyStore old = store(TABLE, Layout.SINGLE);
		old.claim(TestDatabase.request(TestDatabase.newKey()));
		this.jdbc.update("UPDATE records SET state = 'C', lease_until = NULL, expires_at = now() - interval '1 hour'");
		this.jdbc.execute("VACUUM FULL records");
		convert();
		JdbcIdempotencyStore store = store(TABLE, Layout.PARTITIONED);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		store.claim(request);
		assertThat(this.jdbc.queryForList("SELECT DISTINCT ctid::text FROM records", String.class)).hasSize(1);
		old.deleteExpired(10);
		assertThat(store.complete(request, null)).isEqualTo(Settlement.SETTLED);
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM records", Long.class)).isOne();
	}

	@ParameterizedTest
	@ValueSource(strings = { "records", "ops.records", "Ops.Records" })
	void storeWorksOnATableOfAnyName(String name) {
		this.jdbc.execute("CREATE SCHEMA ops");
		String table = name;
		JdbcSchemaMigration.migrate(this.pool, table, Layout.PARTITIONED);
		JdbcSchemaValidation.validate(this.pool, table, Layout.PARTITIONED);
		JdbcIdempotencyStore store = store(table, Layout.PARTITIONED);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(store.claim(request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(store.complete(request, null)).isEqualTo(Settlement.SETTLED);
		this.jdbc.execute("UPDATE " + name + "_period SET since = since - interval '2 days'");
		store.maintain();
		assertThat(store.claim(request)).isEqualTo(new Claim.Completed(null));
		assertThat(this.jdbc.queryForList(
				"SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ?::regclass " + "ORDER BY 1",
				String.class, name))
			.containsExactly(partition(table, 1), partition(table, 2), partition(table, 3));
	}

	private static String partition(String table, int number) {
		return table.toString().toLowerCase() + "_p" + number;
	}

	// The last column is added while connections are open. The first partition owns
	// no sequence.
	@Test
	@Tag("promise-15")
	void columnsOfTheApplicationKeepTheirDefaults() {
		migrate(Layout.SINGLE);
		this.jdbc.execute("ALTER TABLE records ADD note text NOT NULL DEFAULT 'none', ADD number serial");
		store(TABLE, Layout.SINGLE).claim(TestDatabase.request(TestDatabase.newKey()));
		convert();
		JdbcIdempotencyStore store = store(TABLE, Layout.PARTITIONED);
		useAll(store);
		this.jdbc.execute("ALTER TABLE records ADD tenant integer NOT NULL DEFAULT 7");
		useAll(store);
		this.jdbc.execute("UPDATE records SET expires_at = now() WHERE period = 0; "
				+ "UPDATE records SET lease_until = now() WHERE period = 0; "
				+ "UPDATE records_period SET since = since - interval '2 days'");
		store.maintain();
		useAll(store);
		assertThat(this.jdbc.queryForList("SELECT DISTINCT period FROM records ORDER BY 1", Integer.class))
			.containsExactly(1, 2);
		assertThat(this.jdbc.queryForObject("SELECT count(DISTINCT number) = count(*) AND bool_and(note = 'none') "
				+ "AND bool_and(tenant = 7) FROM records", Boolean.class))
			.isTrue();
	}

	private void useAll(JdbcIdempotencyStore store) {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(store.claim(request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(store.complete(request, new byte[0])).isEqualTo(Settlement.SETTLED);
		ClaimRequest forgotten = TestDatabase.request(TestDatabase.newKey());
		assertThat(store.restore(forgotten, new Claim.Acquired(3, 2))).isEqualTo(Settlement.SETTLED);
		assertThat(store.fail(forgotten, new Failure("x", "y"))).isEqualTo(Settlement.SETTLED);
		assertThat(store
			.claimAll(List.of(TestDatabase.request(forgotten.key()), TestDatabase.request(TestDatabase.newKey()))))
			.containsExactly(new Claim.Acquired(4, 3), new Claim.Acquired(1, 1));
		assertThat(store.noteFailure(TestDatabase.request(TestDatabase.newKey()), new Failure("x", "y")))
			.isEqualTo(Settlement.SETTLED);
		new TransactionTemplate(new JdbcTransactionManager(this.pool)).executeWithoutResult(
				(status) -> assertThat(store.insert(TestDatabase.request(TestDatabase.newKey()))).isPresent());
	}

	@Test
	@Tag("promise-12")
	void tableWithAnAdditionalMandatoryColumnIsNotConverted() {
		migrate(Layout.SINGLE);
		this.jdbc.execute("ALTER TABLE records ADD number integer GENERATED ALWAYS AS IDENTITY");
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(this::convert)
			.withMessageContaining("number");
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE));
	}

	@Test
	void repeatedMigrationChangesNothing() {
		migrate(Layout.PARTITIONED);
		store(TABLE, Layout.PARTITIONED).claim(TestDatabase.request(TestDatabase.newKey()));
		migrate(Layout.PARTITIONED);
		assertThat(rows()).hasSize(1);
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED));
	}

	// An instance of a later version has already started.
	@ParameterizedTest
	@EnumSource
	void instanceStartsWhenALaterVersionHasMigrated(Layout layout) {
		migrate(layout);
		this.jdbc.update("INSERT INTO records_schema_history SELECT installed_rank + 1, '9', 'later', type, "
				+ "'V9__later.sql', checksum, installed_by, installed_on, execution_time, success "
				+ "FROM records_schema_history ORDER BY installed_rank DESC LIMIT 1");
		assertThatNoException().isThrownBy(() -> migrate(layout));
	}

	@Test
	void conversionBlocksClaimsOnlyBriefly() {
		migrate(Layout.SINGLE);
		long start = System.nanoTime();
		new TransactionTemplate(new JdbcTransactionManager(this.pool)).executeWithoutResult((status) -> {
			new JdbcTemplate(this.pool).execute("LOCK TABLE records IN ROW EXCLUSIVE MODE");
			assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(this::convert)
				.withMessageContaining("lock timeout");
		});
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(9));
	}

	// A host that is gone or frozen may hold a lock on the whole table.
	@Test
	void serverEndsAConversionThatIsIdle() throws IOException {
		migrate(Layout.SINGLE);
		String script = new ClassPathResource("dev/idempotency/jdbc/postgresql-partitioned/V1000__partitions.sql")
			.getContentAsString(StandardCharsets.UTF_8)
			.replace("${table}", "records")
			.replace("${name}", "records");
		new TransactionTemplate(new JdbcTransactionManager(this.pool)).executeWithoutResult((status) -> {
			JdbcTemplate conversion = new JdbcTemplate(this.pool);
			conversion.execute(script);
			assertThat(conversion.queryForObject("SHOW idle_in_transaction_session_timeout", String.class))
				.isEqualTo("1min");
		});
	}

	@Test
	@Tag("promise-12")
	void partitionedTableIsInvalidForTheSingleLayout() {
		migrate(Layout.PARTITIONED);
		migrate(Layout.SINGLE);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE))
			.withMessageContaining("The idempotency table 'records' is partitioned");
	}

	@Test
	@Tag("promise-12")
	void singleTableIsInvalidForThePartitionedLayout() {
		migrate(Layout.SINGLE);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED))
			.withMessageContaining(
					"'idempotency.jdbc.layout' is 'partitioned', but the idempotency table 'records' is not");
	}

	@Test
	@Tag("promise-12")
	void missingFunctionIsReported() {
		migrate(Layout.PARTITIONED);
		this.jdbc.execute("DROP FUNCTION records_drop_dead");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED))
			.withMessageContaining("lacks the functions records_drop_dead.");
	}

	@Test
	@Tag("promise-12")
	void partitionedLayoutIsRefusedOnH2() {
		HikariDataSource h2 = new HikariDataSource();
		h2.setJdbcUrl("jdbc:h2:mem:" + Servers.unique("partitions"));
		try (h2) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaMigration.migrate(h2, TABLE, Layout.PARTITIONED))
				.withMessageContaining("H2 does not support the layout");
		}
	}

}
