/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.Observers;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for {@link JdbcIdempotencyStore} on MariaDB and MySQL, with the driver of either:
 * sessions, transactions and locks.
 */
@ParameterizedClass
@EnumSource
class MySqlStoreTests {

	private static final Failure FAILURE = new Failure("com.example.Broken", "no");

	private static final int THREADS = 8;

	@Parameter
	private Driver driver;

	private final List<HikariDataSource> pools = new ArrayList<>();

	private String url;

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	private JdbcIdempotencyStore store;

	private final IdempotencyKey key = TestDatabase.newKey();

	/**
	 * The drivers, each with a database that its tests share.
	 */
	enum Driver {

		MARIADB {

			@Override
			String create() {
				return Servers.newMariaDb();
			}

		},
		MYSQL {

			@Override
			String create() {
				return Servers.newMySql();
			}

		};

		private String url;

		abstract String create();

		boolean isMariaDb() {
			return this == MARIADB || System.getProperty("test.mysql.url") == null;
		}

		synchronized String url() {
			if (this.url == null) {
				String created = create();
				try (HikariDataSource pool = Servers.mySqlPool(created)) {
					JdbcSchemaMigration.migrate(pool, TestDatabase.TABLE);
					new JdbcTemplate(pool).execute("CREATE TABLE effect (id INTEGER PRIMARY KEY, value INTEGER)");
				}
				this.url = created;
			}
			return this.url;
		}

	}

	@BeforeEach
	void create() {
		this.url = this.driver.url();
		this.pool = pool("");
		this.jdbc = new JdbcTemplate(this.pool);
		this.store = store(this.pool);
		this.jdbc.update("DELETE FROM effect");
	}

	@AfterEach
	void close() {
		this.pools.forEach(HikariDataSource::close);
	}

	private HikariDataSource pool(String options) {
		HikariDataSource created = Servers.mySqlPool(this.url + options);
		this.pools.add(created);
		return created;
	}

	private static JdbcIdempotencyStore store(HikariDataSource pool) {
		return new JdbcIdempotencyStore(pool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
	}

	private TransactionTemplate transactions(int isolation) {
		TransactionTemplate transactions = new TransactionTemplate(new JdbcTransactionManager(this.pool));
		transactions.setIsolationLevel(isolation);
		return transactions;
	}

	private static void elsewhere(Runnable action) {
		CompletableFuture.runAsync(action).orTimeout(30, TimeUnit.SECONDS).join();
	}

	@Test
	void numberOfRecordsIsEstimatedForATableWithoutASchemaInItsName() {
		DatabaseInspection database = DatabaseInspection.of(this.pool, TableName.of(TestDatabase.TABLE), Layout.SINGLE);
		RecordSql sql = database.dialect().records(database.table(), TestDatabase.TIMEOUT);
		assertThat(database.executor(this.pool, TestDatabase.TIMEOUT)
			.first(sql.get(RecordSql.Name.ESTIMATE), Parameters.none(), (row) -> row.getObject(1, Long.class)))
			.hasValueSatisfying((estimate) -> assertThat(estimate).isNotNegative());
	}

	@Test
	void batchStoresKeysWithCharactersThatJsonEscapes() {
		List<IdempotencyKey> keys = Stream.of("\"", "\\", "\\u0022", "$0", "/", "\u20ac")
			.map((text) -> IdempotencyKey.of("escaped", this.key.value() + text))
			.toList();
		assertThat(this.store.claim(keys.stream().map(TestDatabase::request).toList()))
			.allMatch(new Claim.Acquired(1, 1)::equals);
		assertThat(this.jdbc.queryForList(
				"SELECT `key` FROM " + TestDatabase.TABLE + " WHERE scope = 'escaped'" + " AND `key` LIKE ?",
				String.class, this.key.value() + "%"))
			.containsExactlyInAnyOrderElementsOf(keys.stream().map(IdempotencyKey::value).toList());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-4")
	void answersDoNotDependOnWhetherTheDriverCountsChangedRows(boolean changed) {
		JdbcIdempotencyStore counting = store(pool("&useAffectedRows=" + changed));
		List<ClaimRequest> owners = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
			.limit(3)
			.toList();
		ClaimRequest stranger = TestDatabase.request(owners.get(1).key());
		ClaimRequest unknown = TestDatabase.request(this.key);
		List<ClaimRequest> mixed = List.of(owners.get(0), stranger, unknown, owners.get(2));
		for (int repetition = 0; repetition < 2; repetition++) {
			assertThat(counting.claim(owners)).allMatch(new Claim.Acquired(1, 1)::equals);
			assertThat(one(counting).claim(owners.get(0))).isEqualTo(new Claim.Acquired(1, 1));
			assertThat(one(counting).claim(stranger)).isInstanceOf(Claim.InProgress.class);
			assertThat(counting.restore(owners.get(0), new Claim.Acquired(1, 1))).isEqualTo(Settlement.SETTLED);
			assertThat(counting.restore(stranger, new Claim.Acquired(1, 1))).isEqualTo(Settlement.LOST);
			assertThat(counting.settleAfterTransaction(Endings.failed(List.of(stranger), FAILURE), List.of()))
				.containsExactly(Settlement.LOST);
			assertThat(counting.renew(mixed)).containsExactly(Settlement.SETTLED, Settlement.LOST, Settlement.FORGOTTEN,
					Settlement.SETTLED);
		}
		for (int repetition = 0; repetition < 2; repetition++) {
			assertThat(counting.settle(Endings.completed(mixed, null))).containsExactly(Settlement.SETTLED,
					Settlement.LOST, Settlement.FORGOTTEN, Settlement.SETTLED);
			assertThat(one(counting).complete(owners.get(0), null)).isEqualTo(Settlement.SETTLED);
			assertThat(one(counting).complete(stranger, null)).isEqualTo(Settlement.LOST);
			assertThat(one(counting).fail(owners.get(1), FAILURE)).isEqualTo(Settlement.SETTLED);
			assertThat(one(counting).release(owners.get(1))).isEqualTo(Settlement.SETTLED);
			assertThat(counting.records().orElseThrow().release(owners.get(1).key(), false)).isEqualTo(Change.DONE);
			assertThat(one(counting).claim(owners.get(1))).isInstanceOf(Claim.Acquired.class);
		}
		transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
			assertThat(one(this.store).insert(TestDatabase.request(owners.get(0).key()))).isEmpty();
			assertThat(one(this.store).insert(unknown)).isPresent();
		});
	}

	@Test
	@Tag("promise-2")
	void timeZonesOfTheSessionsDoNotMatter() {
		JdbcIdempotencyStore east = store(
				pool("&sessionVariables=time_zone='" + ((this.driver == Driver.MYSQL) ? "%2B" : "+") + "05:00'"));
		JdbcIdempotencyStore west = store(pool("&sessionVariables=time_zone='-08:00'"
				+ ((this.driver == Driver.MYSQL) ? "&connectionTimeZone=America/Los_Angeles" : "")));
		// Other tests have older claims in their scopes.
		IdempotencyKey key = IdempotencyKey.of("zones", this.key.value());
		ClaimRequest owner = TestDatabase.request(key, Duration.ofMinutes(1));
		assertThat(one(east).claim(owner)).isInstanceOf(Claim.Acquired.class);
		assertThat(one(west).claim(TestDatabase.request(key))).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(61)));
		assertThat(one(west).find(key).orElseThrow().createdAt()).isBetween(Instant.now().minusSeconds(60),
				Instant.now().plusSeconds(60));
		assertThat(one(east).find(key)).isEqualTo(one(west).find(key));
		assertThat(west.records().orElseThrow().overview().scopes()).filteredOn((scope) -> scope.name().equals("zones"))
			.singleElement()
			.satisfies((scope) -> assertThat(scope.stuck()).isZero());
		assertThat(west.deleteExpired(10, Duration.ZERO)).isZero();
		assertThat(one(east).complete(owner, null)).isEqualTo(Settlement.SETTLED);
		assertThat(one(west).claim(TestDatabase.request(key))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-2")
	void nothingIsCutOffWithoutStrictMode() {
		JdbcIdempotencyStore lenient = store(pool("&sessionVariables=sql_mode=''"));
		IdempotencyKey longest = IdempotencyKey.of("\uFFE5".repeat(512), "\uFFE5".repeat(500) + this.key.value());
		ClaimRequest owner = TestDatabase.request(longest);
		byte[] result = new byte[300_000];
		new Random(1).nextBytes(result);
		assertThat(lenient.claim(List.of(owner))).containsExactly(new Claim.Acquired(1, 1));
		assertThat(lenient.settle(List.of(new Ending.Completed(owner, result)))).containsExactly(Settlement.SETTLED);
		assertThat(this.store.records().orElseThrow().result(longest)).hasValue(result);
		assertThat(one(this.store).find(longest).orElseThrow().key()).isEqualTo(longest);
		ClaimRequest failing = TestDatabase.request(this.key);
		Failure failure = new Failure("\uFFE5".repeat(500), "\uFFE5".repeat(500));
		one(lenient).claim(failing);
		one(lenient).fail(failing, failure);
		assertThat(one(this.store).find(this.key).orElseThrow().failure()).isEqualTo(failure);
	}

	@Test
	@Tag("promise-14")
	void batchWhoseResultsDoNotFitIntoAPacketIsCompleted() {
		List<ClaimRequest> owners = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
			.limit(24)
			.toList();
		JdbcIdempotencyStore patient = new JdbcIdempotencyStore(this.pool, TestDatabase.TABLE, Duration.ofSeconds(10));
		byte[] result = new byte[768 << 10];
		assertThat(patient.claim(owners)).allMatch(Claim.Acquired.class::isInstance);
		assertThat(patient.settle(Endings.completed(owners, result))).hasSize(24).allMatch(Settlement.SETTLED::equals);
		assertThat(this.store.records().orElseThrow().result(owners.get(23).key())).hasValue(result);
	}

	@Test
	@Tag("promise-2")
	void scopesThatDifferInATrailingBlankOrInCaseAreDifferent() {
		String scope = Servers.unique("blank");
		List<String> scopes = List.of(scope, scope + " ", scope.toUpperCase());
		scopes.forEach((each) -> one(this.store).claim(TestDatabase.request(IdempotencyKey.of(each, "k"))));
		assertThat(this.store.records().orElseThrow().overview().scopes())
			.filteredOn((count) -> count.name().strip().equalsIgnoreCase(scope))
			.hasSize(3)
			.allSatisfy((count) -> assertThat(count.inProgress()).isOne());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-3")
	void answerInATransactionDoesNotComeFromItsOldSnapshot(boolean joined) {
		ClaimRequest other = TestDatabase.request(this.key);
		List<ClaimRequest> batch = List.of(TestDatabase.request(this.key), TestDatabase.request(TestDatabase.newKey()));
		transactions(TransactionDefinition.ISOLATION_REPEATABLE_READ).executeWithoutResult((status) -> {
			this.jdbc.queryForList("SELECT id FROM " + TestDatabase.TABLE);
			elsewhere(() -> {
				assertThat(one(this.store).claim(other)).isInstanceOf(Claim.Acquired.class);
				assertThat(one(this.store).complete(other, new byte[] { 7 })).isEqualTo(Settlement.SETTLED);
			});
			assertThat(this.jdbc.queryForList("SELECT id FROM " + TestDatabase.TABLE + " WHERE id = ?",
					MySqlTypes.bytes(this.key.id())))
				.as("the snapshot")
				.isEmpty();
			assertThat(one(this.store).insert(TestDatabase.request(this.key))).isEmpty();
			assertThat(this.store.claimInTransaction(List.of(TestDatabase.request(this.key)), joined).get(0))
				.satisfies(MySqlStoreTests::isReplayed);
			List<Claim> claims = this.store.claimInTransaction(batch, joined);
			assertThat(claims.get(0)).satisfies(MySqlStoreTests::isReplayed);
			assertThat(claims.get(1)).isEqualTo(new Claim.Acquired(1, 1));
			this.store.requireCommittable();
		});
	}

	@Test
	@Tag("promise-3")
	void claimThatTheSnapshotForbidsIsRepeatedInANewTransaction() {
		Assumptions.assumeTrue(this.driver.isMariaDb());
		HikariDataSource strict = pool("&sessionVariables=innodb_snapshot_isolation=ON");
		JdbcIdempotencyStore strictStore = store(strict);
		TransactionTemplate repeatable = new TransactionTemplate(new JdbcTransactionManager(strict));
		repeatable.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
		ClaimRequest other = TestDatabase.request(this.key);
		List<Throwable> errors = new ArrayList<>();
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> repeatable.executeWithoutResult((status) -> {
				JdbcTemplate handler = new JdbcTemplate(strict);
				handler.update("INSERT INTO effect VALUES (1, 1)");
				handler.queryForList("SELECT id FROM " + TestDatabase.TABLE);
				elsewhere(() -> assertThat(one(this.store).claim(other)).isInstanceOf(Claim.Acquired.class));
				errors.add(catchThrowable(
						() -> strictStore.claimInTransaction(List.of(TestDatabase.request(this.key)), true).get(0)));
			}));
		assertThat(errors).singleElement().isInstanceOf(OperationInProgressException.class);
		assertThat(this.jdbc.queryForList("SELECT id FROM effect")).isEmpty();
		repeatable.executeWithoutResult((status) -> assertThat(
				strictStore.claimInTransaction(List.of(TestDatabase.request(this.key)), true).get(0))
			.isInstanceOf(Claim.InProgress.class));
	}

	@Test
	void statementsOfOneRecordAndOfABatch() {
		Assumptions.assumeTrue(this.driver.isMariaDb());
		AtomicInteger statements = new AtomicInteger();
		DataSource counted = ProxyDataSourceBuilder.create(this.pool)
			.afterQuery((execution, queries) -> statements.addAndGet(queries.size()))
			.build();
		JdbcIdempotencyStore counting = new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		IdempotencyTemplate template = new IdempotencyTemplate(counting,
				new Settings(new JdbcTransactionManager(counted), false, Observers.none()));
		Function<Mode, Integer> run = (mode) -> {
			int before = statements.get();
			template.execute(TestDatabase.operation(this.key, mode), new TextCodec(), () -> "done");
			return statements.get() - before;
		};
		assertThat(run.apply(Mode.TRANSACTIONAL)).as("insert, result, check").isEqualTo(3);
		assertThat(run.apply(Mode.TRANSACTIONAL)).as("duplicate").isEqualTo(2);
		assertThat(run.apply(Mode.LEASED)).as("duplicate").isEqualTo(1);
		List<ClaimRequest> requests = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
			.limit(50)
			.toList();
		int before = statements.get();
		assertThat(counting.claim(requests)).allMatch(Claim.Acquired.class::isInstance);
		assertThat(counting.settle(Endings.completed(requests, null))).allMatch(Settlement.SETTLED::equals);
		assertThat(statements.get() - before).as("batch").isEqualTo(2);
		assertThat(counting.claim(requests)).allMatch(Claim.Completed.class::isInstance);
		assertThat(statements.get() - before).as("duplicates").isEqualTo(3);
	}

	private static void isReplayed(Claim claim) {
		assertThat(((Claim.Completed) claim).result()).containsExactly(7);
	}

	@Test
	@Tag("promise-2")
	void claimEndsInTimeWhileAnotherTransactionHoldsTheKeyAndTheTransactionOfTheCallerSurvives() {
		transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((holder) -> {
			assertThat(one(this.store).insert(TestDatabase.request(this.key))).isPresent();
			elsewhere(() -> {
				long start = System.nanoTime();
				transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
					this.jdbc.update("INSERT INTO effect VALUES (1, 1)");
					assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(
							() -> this.store.claimInTransaction(List.of(TestDatabase.request(this.key)), true).get(0));
				});
				assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofMillis(400),
						Duration.ofSeconds(5));
			});
		});
		assertThat(this.jdbc.queryForObject("SELECT value FROM effect WHERE id = 1", Integer.class)).isOne();
	}

	// The other transaction has written more rows, so that the claim is the victim.
	@Test
	@Tag("promise-5")
	void transactionInWhichAClaimMeetsADeadlockCannotBeCommitted() {
		AtomicReference<Throwable> refused = new AtomicReference<>();
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
				this.jdbc.update("INSERT INTO effect VALUES (1, 1)");
				CompletableFuture<Void> heavier = heavierTransaction();
				try {
					this.store.claimInTransaction(List.of(TestDatabase.request(this.key)), true).get(0);
				}
				catch (OperationInProgressException ex) {
					refused.set(ex);
				}
				heavier.orTimeout(30, TimeUnit.SECONDS).join();
				this.jdbc.update("INSERT INTO effect VALUES (2, 2)");
			}));
		assertThat(refused.get()).isNotNull();
		assertThat(this.jdbc.queryForList("SELECT id FROM effect WHERE id < 10 AND value < 50", Integer.class))
			.isEmpty();
	}

	@Test
	@Tag("promise-5")
	void handlerThatIgnoresADeadlockOfItsOwnStatementCannotCommitWithoutTheRecord() {
		assertThatExceptionOfType(UnexpectedRollbackException.class)
			.isThrownBy(() -> transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
				ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
				assertThat(one(this.store).insert(request)).isPresent();
				this.jdbc.update("INSERT INTO effect VALUES (1, 1)");
				CompletableFuture<Void> heavier = heavierTransaction();
				assertThatExceptionOfType(DataAccessException.class)
					.isThrownBy(() -> this.jdbc.update("UPDATE effect SET value = 3 WHERE id = 100"));
				heavier.orTimeout(30, TimeUnit.SECONDS).join();
				this.jdbc.update("INSERT INTO effect VALUES (2, 2)");
				this.store.requireCommittable();
			}));
		assertThat(this.jdbc.queryForList("SELECT id FROM effect WHERE id < 10 AND value < 50", Integer.class))
			.isEmpty();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void operationAndBatchWhoseHandlerFailsAfterAnImplicitCommitRunAgain() {
		IdempotencyTemplate template = new IdempotencyTemplate(this.store,
				new Settings(new JdbcTransactionManager(this.pool), false, Observers.none()));
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		assertThatIllegalStateException()
			.isThrownBy(() -> template.execute(operation, new TextCodec(), this::truncateAndFail));
		assertThat(one(this.store).find(this.key)).get()
			.extracting(IdempotencyRecord::state, IdempotencyRecord::attempt, IdempotencyRecord::failure)
			.containsExactly(State.FAILED, 1, new Failure("java.lang.IllegalStateException", "late"));
		List<BatchItem> items = List.of(new BatchItem(operation, 0),
				new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), 1));
		assertThat(template.executeAll(items, new TextCodec(), (due) -> List.of(truncateAndFail())).failure())
			.hasMessage("late");
		BatchResult<String> repeated = template.executeAll(items, new TextCodec(), (due) -> List.of("one", "two"));
		assertThat(repeated.results()).containsExactly(new IdempotentResult<>("one", false),
				new IdempotentResult<>("two", false));
		assertThat(one(this.store).find(this.key)).get().extracting(IdempotencyRecord::attempt).isEqualTo(3);
	}

	private String truncateAndFail() {
		this.jdbc.execute("TRUNCATE TABLE effect");
		throw new IllegalStateException("late");
	}

	@ParameterizedTest
	@CsvSource({ "false,before", "false,after", "true,before", "true,after" })
	@Tag("promise-5")
	void transactionThatTheServerHasEndedCannotCommitAfterANestedOperation(boolean marked, String nested) {
		assertThatExceptionOfType(UnexpectedRollbackException.class)
			.isThrownBy(() -> transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
				if (marked) {
					this.store.offsetMarks()
						.orElseThrow()
						.raise(List.of(new OffsetMark("scope", "topic", UUID.randomUUID(), 0, 7)), false)
						.get(0);
				}
				else {
					assertThat(one(this.store).insert(TestDatabase.request(TestDatabase.newKey()))).isPresent();
				}
				if (nested.equals("before")) {
					nestedOperation();
				}
				// The server does the same after a deadlock.
				this.jdbc.execute("ROLLBACK");
				if (nested.equals("after")) {
					nestedOperation();
				}
				this.store.requireCommittable();
			}));
	}

	private void nestedOperation() {
		assertThat(this.store.claimInTransaction(List.of(TestDatabase.request(TestDatabase.newKey())), true).get(0))
			.isInstanceOf(Claim.Acquired.class);
		this.store.requireCommittable();
	}

	@Test
	@Tag("promise-5")
	void transactionCommitsWithoutTheOperationsThatItHasRolledBackToASavepoint() {
		ClaimRequest kept = TestDatabase.request(TestDatabase.newKey());
		TransactionTemplate inSavepoint = transactions(TransactionDefinition.ISOLATION_DEFAULT);
		inSavepoint.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
		transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
			inSavepoint.executeWithoutResult((undone) -> {
				nestedOperation();
				undone.setRollbackOnly();
			});
			assertThat(one(this.store).insert(kept)).isPresent();
			inSavepoint.executeWithoutResult((undone) -> {
				nestedOperation();
				undone.setRollbackOnly();
			});
			this.store.requireCommittable();
		});
		assertThat(one(this.store).find(kept.key())).isPresent();
	}

	// Holds the key and a row, and waits for the row that the caller has inserted.
	private CompletableFuture<Void> heavierTransaction() {
		CompletableFuture<Void> holds = new CompletableFuture<>();
		CompletableFuture<Void> ended = CompletableFuture
			.runAsync(() -> transactions(TransactionDefinition.ISOLATION_DEFAULT).executeWithoutResult((status) -> {
				one(this.store).insert(TestDatabase.request(this.key));
				IntStream.range(100, 150).forEach((id) -> this.jdbc.update("INSERT INTO effect VALUES (?, ?)", id, id));
				holds.complete(null);
				this.jdbc.update("INSERT INTO effect VALUES (1, 50)");
				status.setRollbackOnly();
			}));
		holds.orTimeout(30, TimeUnit.SECONDS).join();
		return ended;
	}

	@Test
	@Tag("promise-2")
	void overlappingBatchesInAnyOrderMeetNoDeadlock() throws Exception {
		// On a busy machine, a batch waits for the locks of others for seconds.
		this.store = new JdbcIdempotencyStore(this.pool, TestDatabase.TABLE, Duration.ofSeconds(30));
		List<IdempotencyKey> keys = Stream.generate(TestDatabase::newKey).limit(40).toList();
		ExecutorService threads = Executors.newFixedThreadPool(THREADS);
		List<Future<Integer>> all = new ArrayList<>();
		for (int thread = 0; thread < THREADS; thread++) {
			Random random = new Random(thread);
			all.add(threads.submit(() -> {
				int acquired = 0;
				for (int round = 0; round < 10; round++) {
					acquired += runBatch(keys, random);
				}
				return acquired;
			}));
		}
		int acquired = 0;
		for (Future<Integer> one : all) {
			acquired += one.get(60, TimeUnit.SECONDS);
		}
		threads.shutdown();
		assertThat(acquired).isPositive();
		assertThat(keys).allSatisfy((each) -> assertThat(one(this.store).find(each)).isPresent());
	}

	private int runBatch(List<IdempotencyKey> keys, Random random) {
		List<IdempotencyKey> some = new ArrayList<>(keys);
		Collections.shuffle(some, random);
		List<ClaimRequest> requests = some.subList(0, 20).stream().map(TestDatabase::request).toList();
		List<Claim> claims = this.store.claim(requests);
		List<ClaimRequest> owned = IntStream.range(0, requests.size())
			.filter((i) -> claims.get(i) instanceof Claim.Acquired)
			.mapToObj(requests::get)
			.toList();
		assertThat(this.store.renew(owned)).allMatch(Settlement.SETTLED::equals);
		int half = owned.size() / 2;
		assertThat(this.store.settle(Endings.released(owned.subList(0, half)))).hasSize(half);
		assertThat(this.store.settle(Endings.failed(owned.subList(half, owned.size()), FAILURE)))
			.hasSize(owned.size() - half);
		this.store.settleAfterTransaction(Endings.failed(requests, FAILURE), List.of());
		return owned.size();
	}

	@Test
	@Tag("promise-7")
	void keyIsFreeAsSoonAsTheConnectionOfItsTransactionIsKilled() {
		TransactionTemplate killed = transactions(TransactionDefinition.ISOLATION_DEFAULT);
		assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> killed.executeWithoutResult((status) -> {
			assertThat(one(this.store).insert(TestDatabase.request(this.key))).isPresent();
			Long id = this.jdbc.queryForObject("SELECT CONNECTION_ID()", Long.class);
			elsewhere(() -> this.jdbc.execute("KILL CONNECTION " + id));
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> this.store
				.storeResults(List.of(new Ending.Completed(TestDatabase.request(this.key), new byte[1]))));
			throw new IllegalStateException("killed");
		}));
		Optional<Claim.Acquired> next = transactions(TransactionDefinition.ISOLATION_DEFAULT)
			.execute((status) -> one(this.store).insert(TestDatabase.request(this.key)));
		assertThat(next).hasValue(new Claim.Acquired(1, 1));
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-14")
	void defaultIsolationAndAutoCommitOfThePoolDoNotMatter(boolean autoCommit) throws Exception {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(this.url);
		config.setMaximumPoolSize(THREADS);
		config.setTransactionIsolation("TRANSACTION_SERIALIZABLE");
		config.setAutoCommit(autoCommit);
		HikariDataSource serializable = new HikariDataSource(config);
		this.pools.add(serializable);
		JdbcIdempotencyStore strict = store(serializable);
		List<CompletableFuture<Void>> all = IntStream.range(0, THREADS)
			.mapToObj((i) -> CompletableFuture.runAsync(() -> {
				for (int j = 0; j < 20; j++) {
					ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
					assertThat(one(strict).claim(request)).isEqualTo(new Claim.Acquired(1, 1));
					assertThat(one(strict).complete(request, null)).isEqualTo(Settlement.SETTLED);
				}
			}))
			.toList();
		all.forEach((one) -> one.orTimeout(60, TimeUnit.SECONDS).join());
		assertThat(serializable.getConnection().getAutoCommit()).isEqualTo(autoCommit);
	}

	@Test
	void expiredRecordsAreDeletedInBatchesAndLockedOnesAreSkipped() {
		List<IdempotencyKey> keys = Stream.generate(TestDatabase::newKey).limit(5).toList();
		keys.forEach((each) -> one(this.store).complete(claimed(each), null));
		ClaimRequest alive = claimed(this.key);
		this.jdbc.update(
				"UPDATE " + TestDatabase.TABLE + " SET expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 DAY "
						+ "WHERE `key` IN (?, ?, ?, ?, ?, ?)",
				Stream.concat(keys.stream(), Stream.of(this.key)).map(IdempotencyKey::value).toArray());
		assertThat(this.store.backlogAge()).isBetween(Duration.ofHours(23), Duration.ofHours(25));
		transactions(TransactionDefinition.ISOLATION_READ_COMMITTED).executeWithoutResult((status) -> {
			this.jdbc.queryForList("SELECT id FROM " + TestDatabase.TABLE + " WHERE id = ? FOR UPDATE",
					MySqlTypes.bytes(keys.get(0).id()));
			elsewhere(() -> {
				assertThat(this.store.deleteExpired(3, Duration.ZERO)).isEqualTo(3);
				assertThat(this.store.deleteExpired(3, Duration.ZERO)).isOne();
			});
		});
		assertThat(this.store.deleteExpired(3, Duration.ZERO)).isOne();
		assertThat(keys).allSatisfy((each) -> assertThat(one(this.store).find(each)).isEmpty());
		assertThat(one(this.store).find(alive.key()).orElseThrow().state()).isEqualTo(State.IN_PROGRESS);
	}

	// While a snapshot is open, each batch would read the rows of all batches before it.
	@Test
	void batchContinuesAfterThePreviousOneAndRestartsAtTheEnd() {
		List<IdempotencyKey> keys = Stream.generate(TestDatabase::newKey).limit(4).toList();
		keys.forEach((each) -> one(this.store).complete(claimed(each), null));
		expire(keys.get(1), 3);
		expire(keys.get(2), 2);
		expire(keys.get(3), 1);
		assertThat(this.store.deleteExpired(2, Duration.ZERO)).isEqualTo(2);
		expire(keys.get(0), 4);
		assertThat(this.store.deleteExpired(2, Duration.ZERO)).isOne();
		assertThat(one(this.store).find(keys.get(0))).isPresent();
		assertThat(this.store.deleteExpired(2, Duration.ZERO)).isOne();
		assertThat(one(this.store).find(keys.get(0))).isEmpty();
	}

	private void expire(IdempotencyKey expired, int hours) {
		this.jdbc.update("UPDATE " + TestDatabase.TABLE + " SET expires_at = UTC_TIMESTAMP(6) - INTERVAL ? HOUR "
				+ "WHERE `key` = ?", hours, expired.value());
	}

	private ClaimRequest claimed(IdempotencyKey claimed) {
		ClaimRequest request = TestDatabase.request(claimed);
		assertThat(one(this.store).claim(request)).isInstanceOf(Claim.Acquired.class);
		return request;
	}

}
