/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.migration;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.StalePolicy;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link MigratingStore}.
 */
class MigratingStoreTests {

	private static final Failure FAILURE = new Failure("java.io.IOException", null);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private volatile Instant now = Instant.now();

	private final List<String> sourceCalls = new ArrayList<>();

	private boolean sourceFails;

	private final IdempotencyStore source = new InMemoryIdempotencyStore(() -> this.now);

	private final IdempotencyStore healthyTarget = new InMemoryIdempotencyStore(() -> this.now);

	private final UnreliableStore target = new UnreliableStore(this.healthyTarget);

	private final IdempotencyStore migrating = MigratingStore.of(recorded(this.source), this.target);

	private final IdempotencyKey key = TestDatabase.newKey();

	private IdempotencyStore recorded(IdempotencyStore store) {
		return (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class }, (proxy, method, arguments) -> {
					this.sourceCalls.add(method.getName());
					if (this.sourceFails) {
						throw new DataAccessResourceFailureException("No answer");
					}
					try {
						return method.invoke(store, arguments);
					}
					catch (InvocationTargetException ex) {
						throw Objects.requireNonNull(ex.getCause());
					}
				});
	}

	private ClaimRequest request() {
		return TestDatabase.request(this.key);
	}

	private ClaimRequest request(long version) {
		ClaimRequest request = request();
		return new ClaimRequest(request.key(), request.token(), null, request.lease(), request.retention(), version);
	}

	private static ClaimRequest acquired(IdempotencyStore store, ClaimRequest request) {
		assertThat(one(store).claim(request)).isInstanceOf(Claim.Acquired.class);
		return request;
	}

	private ClaimRequest acquire(IdempotencyStore store) {
		return acquired(store, request());
	}

	private void fail(IdempotencyStore store, int times) {
		for (int i = 0; i < times; i++) {
			one(store).fail(acquire(store), FAILURE);
		}
	}

	@Test
	@Tag("promise-3")
	void keyThatTheSourceHasCompletedIsADuplicate() {
		one(this.source).complete(acquire(this.source), new byte[] { 1 });
		for (Claim answer : List.of(one(this.migrating).claim(request()), this.migrating.lookUp(request()))) {
			assertThat(answer).isInstanceOfSatisfying(Claim.Completed.class,
					(completed) -> assertThat(completed.result()).containsExactly(1));
		}
		assertThat(one(this.target).find(this.key)).isEmpty();
		assertThat(one(this.migrating).find(this.key)).isPresent();
	}

	@Test
	@Tag("promise-9")
	void keyThatTheSourceHasCompletedWithOtherContentIsAMismatch() {
		one(this.source).complete(acquired(this.source, TestDatabase.request(this.key, "content")), null);
		assertThat(one(this.migrating).claim(TestDatabase.request(this.key, "other")))
			.isInstanceOf(Claim.Mismatch.class);
	}

	@Test
	@Tag("promise-3")
	void versionIsComparedWithTheHighestOneOfBothStores() {
		one(this.source).complete(acquired(this.source, request(5)), new byte[] { 5 });
		assertThat(one(this.migrating).claim(request(4))).isEqualTo(new Claim.Stale(5));
		assertThat(one(this.migrating).claim(request(5))).isInstanceOf(Claim.Completed.class);
		one(this.migrating).complete(acquired(this.migrating, request(7)), new byte[] { 7 });
		for (long version : List.of(4, 5, 6)) {
			assertThat(one(this.migrating).claim(request(version))).isEqualTo(new Claim.Stale(7));
			assertThat(this.migrating.lookUp(request(version))).isEqualTo(new Claim.Stale(7));
		}
		assertThat(one(this.migrating).claim(request(7))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-2")
	void keyThatAnOwnerHoldsInTheSourceIsInProgressUntilItsLeaseExpires() {
		acquire(this.source);
		assertThat(one(this.migrating).claim(request())).isInstanceOf(Claim.InProgress.class);
		this.now = this.now.plus(TestDatabase.LEASE).plusMillis(1);
		assertThat(one(this.migrating).claim(request())).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	void newKeyIsWrittenToTheTargetOnlyAndCostsOneCallToTheSource() {
		ClaimRequest request = acquire(this.migrating);
		assertThat(one(this.migrating).complete(request, null)).isEqualTo(Settlement.SETTLED);
		assertThat(one(this.source).find(this.key)).isEmpty();
		assertThat(one(this.target).claim(request())).isInstanceOf(Claim.Completed.class);
		assertThat(this.sourceCalls).containsExactly("lookUp");
	}

	@Test
	@Tag("promise-3")
	void batchCostsOneCallToTheSourceAndAnotherForEachKeyThatItKnows() {
		one(this.source).complete(acquire(this.source), new byte[] { 1 });
		List<Claim> claims = this.migrating.claim(List.of(TestDatabase.request(TestDatabase.newKey()), request(),
				TestDatabase.request(TestDatabase.newKey())));
		assertThat(claims).hasExactlyElementsOfTypes(Claim.Acquired.class, Claim.Completed.class, Claim.Acquired.class);
		assertThat(this.sourceCalls).containsExactly("find", "lookUp");
	}

	static Stream<Named<IdempotencyStore>> targets() {
		return Stream.of(new InMemoryIdempotencyStore(), database.store())
			.map((store) -> Named.of(store.name(), store));
	}

	@ParameterizedTest
	@MethodSource("targets")
	@Tag("promise-4")
	void fenceAndAttemptOfAFailedKeyContinue(IdempotencyStore store) {
		fail(this.source, 2);
		IdempotencyStore moved = MigratingStore.of(this.source, store);
		ClaimRequest request = request();
		assertThat(moved.lookUp(request)).isEqualTo(new Claim.Acquired(3, 3));
		assertThat(one(moved).claim(request)).isEqualTo(new Claim.Acquired(3, 3));
		assertThat(one(moved).claim(request)).as("repeated").isEqualTo(new Claim.Acquired(3, 3));
		one(moved).fail(request, FAILURE);
		assertThat(moved.claim(List.of(request(), TestDatabase.request(TestDatabase.newKey()))))
			.containsExactly(new Claim.Acquired(4, 4), new Claim.Acquired(1, 1));
	}

	@ParameterizedTest
	@MethodSource("targets")
	@Tag("promise-4")
	void fenceContinuesWhenTheKeysMoveBack(IdempotencyStore store) {
		fail(store, 1);
		fail(this.source, 4);
		assertThat(one(MigratingStore.of(this.source, store)).claim(request()))
			.isInstanceOfSatisfying(Claim.Acquired.class, (acquired) -> assertThat(acquired.fence()).isEqualTo(5));
	}

	@Test
	@Tag("promise-3")
	void keysOfAChainOfStoresAreKnown() {
		one(this.source).complete(acquire(this.source), null);
		IdempotencyKey failed = TestDatabase.newKey();
		one(this.source).fail(acquired(this.source, TestDatabase.request(failed)), FAILURE);
		IdempotencyStore last = MigratingStore.of(this.migrating, new InMemoryIdempotencyStore());
		assertThat(last.claim(List.of(request(), TestDatabase.request(failed)))).satisfiesExactly(
				(first) -> assertThat(first).isInstanceOf(Claim.Completed.class),
				(second) -> assertThat(second).isEqualTo(new Claim.Acquired(2, 2)));
	}

	@Test
	@Tag("promise-3")
	void completionOfAnotherOwnerSurvivesAConsumerThatPausesWhileItRaisesTheFence() {
		fail(this.healthyTarget, 1);
		fail(this.source, 4);
		AtomicBoolean first = new AtomicBoolean(true);
		this.target.afterClaim((claim) -> {
			if (first.getAndSet(false)) {
				this.now = this.now.plus(TestDatabase.LEASE).plusMillis(1);
				one(this.healthyTarget).complete(acquire(this.healthyTarget), null);
			}
		});
		assertThat(one(this.migrating).claim(request())).isInstanceOf(Claim.Completed.class);
	}

	@ParameterizedTest
	@CsvSource({ "LEASED, false", "LEASED, true", "TRANSACTIONAL, false", "TRANSACTIONAL, true" })
	@Tag("promise-3")
	@Tag("promise-4")
	@Tag("promise-8")
	void operationsContinueWhereTheSourceLeftThem(Mode mode, boolean batch) {
		IdempotencyKey done = TestDatabase.newKey();
		IdempotencyKey declined = TestDatabase.newKey();
		IdempotencyKey failed = TestDatabase.newKey();
		IdempotencyTemplate before = template(this.source, false);
		before.execute(TestDatabase.operation(done, Mode.LEASED), new TextCodec(), () -> "first");
		assertThatExceptionOfType(OperationDeclinedException.class)
			.isThrownBy(() -> before.execute(TestDatabase.operation(declined, Mode.LEASED), new TextCodec(), () -> {
				throw new OperationDeclinedException("account closed", "body");
			}));
		assertThatIllegalStateException()
			.isThrownBy(() -> before.execute(TestDatabase.operation(failed, Mode.LEASED), new TextCodec(), () -> {
				throw new IllegalStateException("down");
			}));
		IdempotencyKey versioned = TestDatabase.newKey();
		before.execute(TestDatabase.operation(versioned, Mode.LEASED, 5, StalePolicy.SKIP), new TextCodec(),
				() -> "version 5");
		before.close();
		IdempotencyTemplate after = template(MigratingStore.of(this.source, database.store()),
				mode == Mode.TRANSACTIONAL);
		List<IdempotentOperation> operations = Stream
			.concat(Stream.of(this.key, done, declined, failed).map((one) -> TestDatabase.operation(one, mode)),
					Stream.of(TestDatabase.operation(versioned, mode, 4, StalePolicy.SKIP)))
			.toList();
		assertThat(batch ? runAll(after, operations) : operations.stream().map((one) -> run(after, one)).toList())
			.containsExactly("fence 1, attempt 1", "[first]", "[account closed: body]", "fence 2, attempt 2", "stale");
		assertThat(run(after, TestDatabase.operation(versioned, mode, 5, StalePolicy.SKIP))).isEqualTo("[version 5]");
		assertThat(run(after, TestDatabase.operation(versioned, mode, 6, StalePolicy.SKIP)))
			.isEqualTo("fence 2, attempt 1");
		after.close();
	}

	private static IdempotencyTemplate template(IdempotencyStore store, boolean transactional) {
		return new IdempotencyTemplate(store,
				new Settings(transactional ? new JdbcTransactionManager(database.pool()) : null, false,
						new RecordingObserver().observers()));
	}

	private static List<String> runAll(IdempotencyTemplate template, List<IdempotentOperation> operations) {
		List<BatchItem> items = operations.stream().map((operation) -> new BatchItem(operation, "lane")).toList();
		BatchResult<String> result = template.executeAll(items, new TextCodec(),
				(due) -> IdempotentExecution.currentBatch().stream().map(MigratingStoreTests::text).toList());
		return result.results().stream().map((one) -> text(Objects.requireNonNull(one))).toList();
	}

	private static String run(IdempotencyTemplate template, IdempotentOperation operation) {
		try {
			return text(template.execute(operation, new TextCodec(), () -> text(IdempotentExecution.current())));
		}
		catch (OperationDeclinedException ex) {
			return text(new IdempotentResult<>((String) ex.body(), ex.isDuplicate(), ex.reason()));
		}
	}

	private static String text(@Nullable IdempotentExecution execution) {
		return "fence " + Objects.requireNonNull(execution).fence() + ", attempt " + execution.attempt();
	}

	private static String text(IdempotentResult<String> result) {
		if (result.stale()) {
			return "stale";
		}
		String text = (result.declineReason() != null) ? result.declineReason() + ": " + result.result()
				: String.valueOf(result.result());
		return result.duplicate() ? "[" + text + "]" : text;
	}

	@Test
	@Tag("promise-11")
	void recordIsBlockedWhileTheSourceIsUnavailable() {
		IdempotencyTemplate template = template(this.migrating, false);
		this.sourceFails = true;
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> run(template, TestDatabase.operation(this.key, Mode.LEASED)));
		assertThat(one(this.healthyTarget).find(this.key)).isEmpty();
		this.sourceFails = false;
		assertThat(run(template, TestDatabase.operation(this.key, Mode.LEASED))).isEqualTo("fence 1, attempt 1");
		template.close();
	}

}
