package dev.idempotency.jdbc;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for tables of the first version whose instances are still running.
 */
@Tag("promise-15")
class PartitionUpgradeTests {

	private static final String TABLE = "records";

	private static final String FOLDER = "dev/idempotency/jdbc/";

	// The statement with which the first version completes a claim.
	private static final String COMPLETE = "UPDATE records SET state = 'C', lease_until = NULL, result = CASE WHEN "
			+ "state = 'P' THEN ?::bytea ELSE result END WHERE id = ? AND token = ? AND state IN ('P', 'C')";

	// The statement with which the first version claims a key.
	private static final String CLAIM = "SELECT outcome, fence, attempt, result FROM records_claim('1s', ?, ?, ?, 'P', ?, "
			+ "NULL, 60000, 3600000, false)";

	@TempDir
	private Path scripts;

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	private SingleConnectionDataSource old;

	// The driver prepares each statement on the server at its first use.
	@BeforeEach
	void createDatabase() {
		String url = Servers.newDatabase();
		this.pool = Servers.pool(url);
		this.jdbc = Servers.jdbc(url);
		this.old = new SingleConnectionDataSource(url + "?prepareThreshold=1", Servers.postgres().username(),
				Servers.postgres().password(), true);
	}

	@AfterEach
	void closeConnections() {
		this.old.destroy();
		this.pool.close();
	}

	private static String script(String name) throws IOException {
		return new ClassPathResource(FOLDER + name).getContentAsString(StandardCharsets.UTF_8);
	}

	private void createWithTheFirstVersion() throws IOException {
		for (String name : List.of("postgresql/V1__idempotency_record.sql",
				"postgresql-partitioned/V1000__partitions.sql")) {
			Files.writeString(this.scripts.resolve(Path.of(name).getFileName()), script(name));
		}
		Flyway.configure()
			.dataSource(this.pool)
			.locations("filesystem:" + this.scripts)
			.table(TABLE + "_schema_history")
			.placeholders(Map.of("table", "public.records", "name", "records"))
			.baselineOnMigrate(true)
			.baselineVersion("0")
			.load()
			.migrate();
		claimAndCompleteWithTheFirstVersion();
	}

	private static JdbcIdempotencyStore store(DataSource dataSource) {
		return new JdbcIdempotencyStore(dataSource, TABLE, TestDatabase.TIMEOUT, Layout.PARTITIONED,
				TestDatabase.PARTITION_INTERVAL);
	}

	private Map<String, Object> claimWithTheFirstVersion(ClaimRequest request) {
		return claimWithTheFirstVersion(this.old, request);
	}

	private static Map<String, Object> claimWithTheFirstVersion(DataSource dataSource, ClaimRequest request) {
		return new JdbcTemplate(dataSource).queryForMap(CLAIM, request.key().id(), request.key().scope(),
				request.key().value(), request.token());
	}

	private void claimAndCompleteWithTheFirstVersion() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(claimWithTheFirstVersion(request)).containsEntry("outcome", "A").containsEntry("fence", 1);
		assertThat(claimWithTheFirstVersion(TestDatabase.request(request.key()))).containsEntry("outcome", "P");
		assertThat(new JdbcTemplate(this.old).update(COMPLETE, new byte[] { 7 }, request.key().id(), request.token()))
			.isOne();
		assertThat(claimWithTheFirstVersion(request)).containsEntry("outcome", "C")
			.containsEntry("result", new byte[] { 7 });
	}

	private void claimAndComplete() {
		JdbcIdempotencyStore store = store(this.pool);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(store.claim(request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(store.complete(request, new byte[] { 7 })).isEqualTo(Settlement.SETTLED);
		assertThat(((Claim.Completed) store.claim(request)).result()).containsExactly(7);
	}

	@Test
	void openConnectionsClaimAndCompleteAfterTheMigration() throws IOException {
		createWithTheFirstVersion();
		this.jdbc.execute("ALTER TABLE records ADD COLUMN completed_at timestamptz");
		assertThatExceptionOfType(RuntimeException.class)
			.isThrownBy(() -> claimWithTheFirstVersion(this.pool, TestDatabase.request(TestDatabase.newKey())))
			.withStackTraceContaining("Input has too few columns");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED))
			.withMessageContaining("lacks the functions records_add, records_claim, records_claim_all, records_free, "
					+ "records_restore, records_take.");
		JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED);
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED));
		claimAndCompleteWithTheFirstVersion();
		claimAndComplete();
	}

	// An administrator may add it because a publication for all tables requires it.
	@Test
	void periodTableWithAPrimaryKeyIsMigrated() throws IOException {
		createWithTheFirstVersion();
		this.jdbc.execute("ALTER TABLE records_period ADD PRIMARY KEY (period)");
		JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED);
		claimAndCompleteWithTheFirstVersion();
		claimAndComplete();
	}

	// The history begins with V1000, so that V2 is not run.
	@Test
	void tableWithoutTheHistoryOfTheFirstVersionIsMigrated() throws IOException {
		createWithTheFirstVersion();
		this.jdbc.execute("DROP TABLE " + TABLE + "_schema_history");
		JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED);
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED));
		claimAndCompleteWithTheFirstVersion();
		claimAndComplete();
	}

	// The default privilege of PUBLIC on new functions has been revoked.
	@Test
	void userOfARunningInstanceMayUseTheNewFunctions() throws IOException {
		String user = Servers.unique("user");
		this.jdbc.execute("CREATE ROLE " + user + "; ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC");
		createWithTheFirstVersion();
		this.jdbc.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON records, records_period TO " + user
				+ "; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO " + user);
		new JdbcTemplate(this.old).execute("SET ROLE " + user);
		claimAndCompleteWithTheFirstVersion();
		JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED);
		claimAndCompleteWithTheFirstVersion();
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.old, TABLE, Layout.PARTITIONED));
	}

	// The claim waits in the middle of a function that the migration replaces.
	@Test
	void claimThatWaitedForTheMigrationIsAcquired() throws IOException {
		createWithTheFirstVersion();
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		String migration = (script("postgresql/V2__completed_at.sql") + script("postgresql/V4__version.sql")
				+ script("postgresql-partitioned/V1001__functions.sql")
				+ script("postgresql-partitioned/V1002__version.sql"))
			.replace("${table}", "public.records");
		CompletableFuture<Map<String, Object>> claim = new TransactionTemplate(new JdbcTransactionManager(this.pool))
			.execute((status) -> {
				new JdbcTemplate(this.pool).execute(migration);
				CompletableFuture<Map<String, Object>> waiting = CompletableFuture
					.supplyAsync(() -> claimWithTheFirstVersion(request));
				await().pollDelay(Duration.ZERO).until(this::sessionWaits);
				return waiting;
			});
		assertThat(claim).succeedsWithin(5, TimeUnit.SECONDS)
			.satisfies((row) -> assertThat(row).containsEntry("outcome", "A"));
		claimAndCompleteWithTheFirstVersion();
	}

	// The migration waits for its lock for a shorter time than claims may wait.
	@Test
	void claimsContinueWhileTheMigrationWaitsForAnOpenTransaction() throws IOException {
		createWithTheFirstVersion();
		CompletableFuture<Void> migration = new TransactionTemplate(new JdbcTransactionManager(this.pool))
			.execute((status) -> {
				claimWithTheFirstVersion(this.pool, TestDatabase.request(TestDatabase.newKey()));
				CompletableFuture<Void> waiting = CompletableFuture
					.runAsync(() -> JdbcSchemaMigration.migrate(this.pool, TABLE, Layout.PARTITIONED));
				await().pollDelay(Duration.ZERO).until(this::sessionWaits);
				long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
				while (System.nanoTime() - end < 0) {
					claimAndCompleteWithTheFirstVersion();
				}
				assertThat(waiting).isNotDone();
				return waiting;
			});
		assertThat(migration).succeedsWithin(20, TimeUnit.SECONDS);
		claimAndComplete();
	}

	private boolean sessionWaits() {
		return this.jdbc.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
				+ "AND wait_event_type = 'Lock'", Long.class) > 0;
	}

}
