/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.DefaultTransactionDefinition;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for an {@link IdempotencyTemplate} with a {@link StoreCircuit}.
 */
@Tag("promise-11")
@Order(3)
class StoreCircuitTests {

	private static final int RECORDS = 2_000;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private CircuitBreaker breaker = breaker(1);

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final AtomicInteger runs = new AtomicInteger();

	private IdempotencyTemplate template;

	private HikariDataSource dead;

	private static CircuitBreaker breaker(int probes) {
		return CircuitBreaker.of("store",
				CircuitBreakerConfig.custom()
					.slidingWindowSize(10)
					.minimumNumberOfCalls(5)
					.waitDurationInOpenState(Duration.ofMillis(500))
					.permittedNumberOfCallsInHalfOpenState(probes)
					.build());
	}

	@AfterEach
	void close() {
		this.template.close();
		if (this.dead != null) {
			this.dead.close();
		}
	}

	private IdempotencyTemplate template(IdempotencyStore someStore, JdbcTransactionManager manager, boolean failOpen) {
		this.template = new IdempotencyTemplate(someStore,
				new Settings(null, manager, failOpen, new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE,
						this.listener.observers(), List.of(), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE,
						null, OperationSpec.Defaults.STANDARD));
		return this.template;
	}

	private void run(IdempotencyTemplate template, Mode mode) {
		template.execute(TestDatabase.operation(TestDatabase.newKey(), mode), ResultCodec.none(), () -> {
			this.runs.incrementAndGet();
			return null;
		});
	}

	private void open(IdempotencyTemplate template) {
		this.store.fail(StoreCall.CLAIM, StoreCall.RELEASE);
		await().pollInSameThread().pollInterval(Duration.ofMillis(1)).until(() -> {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> run(template, Mode.LEASED));
			return this.breaker.getState() == CircuitBreaker.State.OPEN;
		});
	}

	// The pool of an unavailable database blocks each caller for the whole timeout, which
	// it reads when it starts.
	private IdempotencyTemplate deadTemplate(boolean failOpen) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl("jdbc:postgresql://127.0.0.1:1/none");
		config.setInitializationFailTimeout(-1);
		config.setConnectionTimeout(250);
		this.dead = new HikariDataSource(config);
		// The store needs the database when it is created.
		DelegatingDataSource source = new DelegatingDataSource(database.pool());
		JdbcIdempotencyStore deadStore = new JdbcIdempotencyStore(source, TestDatabase.TABLE, TestDatabase.TIMEOUT,
				Layout.SINGLE, TestDatabase.PARTITION_INTERVAL, null);
		source.setTargetDataSource(this.dead);
		return template(deadStore, new JdbcTransactionManager(source), failOpen);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void blockedRecordsOfAnUnavailableStoreCostNoTimeoutEach(Mode mode) {
		IdempotencyTemplate template = deadTemplate(false);
		long start = System.nanoTime();
		for (int i = 0; i < RECORDS; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run(template, mode));
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMinutes(1));
		assertThat(this.runs).hasValue(0);
		assertThat(this.listener.outcomes()).hasSize(RECORDS).containsOnly(Outcome.UNAVAILABLE);
	}

	@Test
	void everyUnprotectedRunIsCounted() {
		IdempotencyTemplate template = deadTemplate(true);
		try (Logs logs = Logs.ofThisThread()) {
			for (int i = 0; i < RECORDS; i++) {
				run(template, Mode.LEASED);
			}
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("The idempotency store 'jdbc' is unavailable", "without protection");
		}
		assertThat(this.runs).hasValue(RECORDS);
		assertThat(this.listener.outcomes()).hasSize(RECORDS).containsOnly(Outcome.UNPROTECTED);
	}

	// The handler's writes belong to a transaction of the same database.
	@Test
	@Tag("promise-15")
	void handlerOfTransactionalModeDoesNotRunWithoutATransaction() {
		IdempotencyTemplate template = deadTemplate(true);
		long start = System.nanoTime();
		for (int i = 0; i < RECORDS; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> run(template, Mode.TRANSACTIONAL))
				.withMessageContaining("No transaction could begin");
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMinutes(1));
		assertThat(this.runs).hasValue(0);
		assertThat(this.listener.outcomes()).hasSize(RECORDS).containsOnly(Outcome.UNAVAILABLE);
	}

	@Test
	@Tag("promise-15")
	void batchOfTransactionalModeDoesNotRunWithoutATransaction() {
		IdempotencyTemplate template = deadTemplate(true);
		List<BatchItem> items = List.of(new BatchItem(null, 0), new BatchItem(null, 1));
		BatchResult<String> executed = template.executeAll(items, Mode.TRANSACTIONAL, ResultCodec.none(),
				TransactionBoundary.DEFAULT, (due) -> {
					this.runs.incrementAndGet();
					return null;
				});
		assertThat(executed.blocked()).containsOnlyKeys(0, 1);
		assertThat(this.runs).hasValue(0);
	}

	@Test
	@Tag("promise-15")
	void unprotectedRunOfTransactionalModeIsRolledBackAsAWhole() {
		IdempotencyTemplate template = transactionalTemplateWithOpenCircuit();
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL),
					ResultCodec.none(), () -> failAfterEffect("record")));
		assertThat(effects("record")).isZero();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.UNPROTECTED);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void unprotectedRunOfTransactionalModeIsCommittedUnlessItsHandlerRequestsARollback(boolean rollback) {
		String value = Servers.unique("record");
		IdempotencyTemplate template = transactionalTemplateWithOpenCircuit();
		TransactionBoundary boundary = TransactionBoundary.of(new DefaultTransactionDefinition(), () -> rollback);
		assertThat(template
			.<String, RuntimeException>execute(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL),
					ResultCodec.none(), boundary, null, () -> effect(value))
			.result()).isEqualTo(value);
		assertThat(effects(value)).isEqualTo(rollback ? 0 : 1);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.UNPROTECTED);
	}

	@Test
	@Tag("promise-15")
	void unprotectedBatchOfTransactionalModeIsRolledBackAsAWhole() {
		String value = Servers.unique("batch");
		IdempotencyTemplate template = transactionalTemplateWithOpenCircuit();
		List<BatchItem> items = List
			.of(new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), 0));
		BatchResult<String> executed = template.executeAll(items, ResultCodec.none(),
				(due) -> List.of(failAfterEffect(value)));
		assertThat(executed.failure()).isInstanceOf(IllegalStateException.class);
		assertThat(effects(value)).isZero();
		executed = template.executeAll(items, ResultCodec.none(), (due) -> List.of(effect(value)));
		assertThat(executed.results()).containsExactly(new IdempotentResult<>(value, false));
		assertThat(effects(value)).isOne();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.FAILED, Outcome.UNPROTECTED);
	}

	private IdempotencyTemplate transactionalTemplateWithOpenCircuit() {
		database.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
		this.breaker.transitionToForcedOpenState();
		return template(database.store(), new JdbcTransactionManager(database.pool()), true);
	}

	private String effect(String value) {
		new JdbcTemplate(database.pool()).update("INSERT INTO effect VALUES (?)", value);
		return value;
	}

	private String failAfterEffect(String value) {
		throw new IllegalStateException("after " + effect(value));
	}

	private long effects(String value) {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Long.class, value);
	}

	@Test
	void openCircuitSendsNoCall() {
		IdempotencyTemplate template = template(this.store, null, false);
		open(template);
		// The circuit stays open, so that no probe interferes.
		this.breaker.transitionToForcedOpenState();
		int calls = this.listener.storeCalls().size();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> run(template, Mode.LEASED))
			.withMessageContainingAll("circuit breaker", "unreliable", "topic-0@7");
		assertThat(this.listener.storeCalls()).hasSize(calls);
	}

	@Test
	void probeClosesTheCircuitWhenTheStoreIsAvailableAgain() {
		IdempotencyTemplate template = template(this.store, null, false);
		open(template);
		this.store.recover();
		await().ignoreException(IdempotencyStoreUnavailableException.class).until(() -> {
			run(template, Mode.LEASED);
			return true;
		});
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
		assertThat(this.listener.circuits()).containsExactly("unreliable CLOSED", "unreliable OPEN",
				"unreliable HALF_OPEN", "unreliable CLOSED");
	}

	@Test
	void probeThatFailsOpensTheCircuitAgain() {
		IdempotencyTemplate template = template(this.store, null, false);
		open(template);
		await().until(() -> {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> run(template, Mode.LEASED));
			return this.listener.circuits().size() >= 4;
		});
		assertThat(this.listener.circuits()).startsWith("unreliable CLOSED", "unreliable OPEN", "unreliable HALF_OPEN",
				"unreliable OPEN");
	}

	@Test
	void handlerThatHasRunIsCompletedThroughAnOpenCircuit() {
		IdempotencyTemplate template = template(this.store, null, false);
		IdempotencyKey key = TestDatabase.newKey();
		template.execute(TestDatabase.operation(key, Mode.LEASED), ResultCodec.none(), () -> {
			open(template);
			return null;
		});
		assertThat(database.record(key).state()).isEqualTo(IdempotencyRecord.State.COMPLETED);
	}

	@Test
	@Tag("promise-7")
	void pendingCompletionIsSettledAtShutdownThroughAnOpenCircuit() {
		IdempotencyTemplate closing = template(this.store, null, false);
		IdempotencyKey key = TestDatabase.newKey();
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(
				() -> closing.execute(TestDatabase.operation(key, Mode.LEASED), ResultCodec.none(), () -> null));
		this.breaker.transitionToForcedOpenState();
		this.store.recover();
		closing.settle();
		assertThat(database.record(key).state()).isEqualTo(IdempotencyRecord.State.COMPLETED);
	}

	@Test
	@Tag("promise-14")
	void redeliveryOfAPendingCompletionSendsNoCallThroughAnOpenCircuit() {
		IdempotencyTemplate template = template(this.store, null, false);
		IdempotentOperation operation = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> template.execute(operation, ResultCodec.none(), () -> null));
		this.breaker.transitionToForcedOpenState();
		int calls = this.store.completions().size();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> template.execute(operation, ResultCodec.none(), () -> null))
			.withMessageContaining("circuit breaker");
		assertThat(this.store.completions()).hasSize(calls);
	}

	// The store answers, and two redeliveries of one record have arrived at its pending
	// completion: the second one finds nothing to do.
	@Test
	void redeliveryWhoseCompletionAnotherThreadHasRecordedUsesNoPermission() throws Exception {
		this.breaker = breaker(2);
		IdempotencyTemplate template = template(this.store, null, false);
		IdempotentOperation operation = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> template.execute(operation, ResultCodec.none(), () -> null));
		this.store.recover();
		CountDownLatch probing = new CountDownLatch(1);
		CountDownLatch secondWaits = new CountDownLatch(1);
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			probing.countDown();
			awaitUninterrupted(secondWaits);
		});
		this.breaker.transitionToOpenState();
		this.breaker.transitionToHalfOpenState();
		Thread first = redeliver(template, operation);
		probing.await();
		Thread second = redeliver(template, operation);
		await().until(() -> second.getState() == Thread.State.WAITING);
		secondWaits.countDown();
		first.join();
		second.join();
		run(template, Mode.LEASED);
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
	}

	private static void awaitUninterrupted(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Thread redeliver(IdempotencyTemplate template, IdempotentOperation operation) {
		Thread consumer = new Thread(() -> {
			try {
				template.execute(operation, ResultCodec.none(), () -> null);
			}
			catch (IdempotencyStoreUnavailableException ex) {
				// Other probes of the half-open circuit are in progress.
			}
		});
		consumer.start();
		return consumer;
	}

	@Test
	void errorOfATransactionManagerReleasesTheProbe() {
		JdbcTransactionManager failing = new JdbcTransactionManager(database.pool());
		failing.addListener(new TransactionExecutionListener() {

			@Override
			public void beforeBegin(TransactionExecution transaction) {
				throw new IllegalStateException("The application's own");
			}

		});
		IdempotencyTemplate template = template(database.store(), failing, false);
		this.breaker.transitionToOpenState();
		this.breaker.transitionToHalfOpenState();
		for (int i = 0; i < 3; i++) {
			assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> run(template, Mode.TRANSACTIONAL));
		}
	}

	// The first transaction, which finds a record, has used the permission.
	@Test
	void errorOfATransactionManagerInAFurtherTransactionReleasesNothing() {
		IdempotentOperation completed = TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL);
		AtomicInteger begun = new AtomicInteger();
		JdbcTransactionManager failing = new JdbcTransactionManager(database.pool());
		failing.addListener(new TransactionExecutionListener() {

			@Override
			public void beforeBegin(TransactionExecution transaction) {
				if (begun.incrementAndGet() == 3) {
					throw new IllegalStateException("The application's own");
				}
			}

		});
		this.breaker = breaker(2);
		IdempotencyTemplate template = template(database.store(), failing, false);
		template.execute(completed, ResultCodec.none(), () -> null);
		this.breaker.transitionToOpenState();
		this.breaker.transitionToHalfOpenState();
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> template.execute(completed, ResultCodec.none(), () -> null));
		assertThat(begun).hasValue(3);
		assertThat(this.breaker.tryAcquirePermission()).isTrue();
		assertThat(this.breaker.tryAcquirePermission()).isFalse();
	}

	@Test
	@Tag("slow")
	void settlementThatIsAlwaysRefusedDoesNotKeepTheCircuitOpen() {
		IdempotencyTemplate template = template(this.store, null, false);
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> run(template, Mode.LEASED));
		this.store.recoverFrom(StoreCall.COMPLETE);
		IdempotencyKey poison = this.listener.executions().get(0).key();
		this.store.before(StoreCall.COMPLETE, (claim) -> {
			if (claim.key().equals(poison)) {
				throw new IllegalStateException("Too long");
			}
		});
		int completions = this.store.completions().size();
		await().during(Duration.ofSeconds(4)).until(() -> {
			run(template, Mode.LEASED);
			return this.breaker.getState() == CircuitBreaker.State.CLOSED;
		});
		assertThat(this.store.completions()).hasSizeGreaterThan(completions + 10);
	}

	@Test
	void contentionDoesNotOpenTheCircuit() {
		IdempotencyTemplate template = template(this.store, null, false);
		this.store.contend(StoreCall.CLAIM);
		for (int i = 0; i < 20; i++) {
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> run(template, Mode.LEASED));
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
	}

	@Test
	void unreadableRecordDoesNotOpenTheCircuit() {
		IdempotencyTemplate template = template(this.store, null, true);
		this.store.garble(StoreCall.CLAIM);
		for (int i = 0; i < 20; i++) {
			assertThatExceptionOfType(IdempotencyRecordUnreadableException.class)
				.isThrownBy(() -> run(template, Mode.LEASED))
				.withMessageContaining("topic-0@7");
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
		assertThat(this.listener.outcomes()).hasSize(20).containsOnly(Outcome.UNREADABLE);
		assertThat(this.runs).hasValue(0);
	}

	@Test
	void outageAndItsEndAreLoggedOnceEach() {
		// The release of a claim may be the first call that succeeds, on another thread.
		try (Logs logs = new Logs()) {
			IdempotencyTemplate template = template(this.store, null, false);
			open(template);
			this.store.recover();
			await().pollInSameThread().ignoreException(IdempotencyStoreUnavailableException.class).until(() -> {
				run(template, Mode.LEASED);
				return !logs.messages("INFO").isEmpty();
			});
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("records are blocked and redelivered");
			assertThat(logs.messages("INFO"))
				.isEqualTo(Collections.singletonList("The idempotency store 'unreliable' is available again"));
		}
	}

}
