/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.BatchOf.IndexFailure;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate#executeAll} in both modes.
 */
class BatchTemplateTests {

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private static BatchOf batch(Mode mode) {
		return new BatchOf(database, mode, false);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-2")
	void eachKeyRunsOnce(Mode mode) {
		BatchOf batch = batch(mode);
		batch.complete("b", "old b");
		assertThat(BatchOf.text(batch.run("a b c c a - d"))).isEqualTo("a [old b] c [c] [a] - d");
		assertThat(batch.runs()).containsExactly("a c - d");
		assertThat(BatchOf.text(batch.run("d a c b"))).isEqualTo("[d] [a] [c] [old b]");
		assertThat(batch.runs()).hasSize(1);
		assertThat(batch.effects()).containsExactly("-", "a", "c", "d");
	}

	private BatchResult<String> runCommitting(BatchOf batch, Exception error) {
		AtomicInteger calls = new AtomicInteger();
		return batch.run("a b5 c", (seen) -> {
			if (calls.getAndIncrement() > 0) {
				return null;
			}
			EffectOperation.commit(new JdbcTemplate(database.pool()));
			return error;
		});
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-1")
	@Tag("promise-5")
	void itemsAroundAFailureRunAgainAlthoughTheHandlerHasCommitted(boolean isBlocked) {
		BatchOf batch = batch(Mode.TRANSACTIONAL);
		Exception blocked = isBlocked ? new OperationInProgressException("nested", Duration.ZERO) : null;
		assertThat(BatchOf.text(runCommitting(batch, new IndexFailure(1, blocked)))).isEqualTo("a - -");
		assertThat(batch.record("b")).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.FAILED, isBlocked ? 0 : 1);
		assertThat(BatchOf.text(batch.run("b4 b5 c"))).isEqualTo("~ b5 c");
		assertThat(batch.runs()).containsExactly("a b5 c", "a", "b5 c");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-1")
	@Tag("promise-5")
	void batchRunsAgainAlthoughItsHandlerHasCommitted(boolean isBlocked) {
		BatchOf batch = batch(Mode.TRANSACTIONAL);
		runCommitting(batch, isBlocked ? new OperationInProgressException("nested", Duration.ZERO)
				: new IllegalStateException("late"));
		assertThat(batch.record("a")).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.FAILED, isBlocked ? 0 : 1);
		assertThat(BatchOf.text(batch.run("a b5 c"))).isEqualTo("a b5 c");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void itemsAroundADeclinedOneRunAgainAlthoughTheHandlerHasCommitted() {
		BatchOf batch = batch(Mode.TRANSACTIONAL);
		runCommitting(batch, new IndexFailure(1, new OperationDeclinedException("closed")));
		assertThat(batch.runs()).containsExactly("a b5 c", "a c");
		assertThat(batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DECLINED, Outcome.PROCESSED);
		assertThat(batch.run("a b5 c").results()).element(1)
			.satisfies((replayed) -> assertThat(replayed.declineReason()).isEqualTo("closed"));
	}

	@Test
	@Tag("promise-3")
	void declinedItemStaysCompletedWhenAnItemWithoutAKeyFailsAfterIt() {
		BatchOf batch = batch(Mode.TRANSACTIONAL);
		batch.run("- b", (seen) -> seen.contains("b") ? new IndexFailure(1, new OperationDeclinedException("closed"))
				: new IndexFailure(0));
		assertThat(batch.runs()).containsExactly("- b", "-");
		assertThat(batch.record("b").state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-11")
	void completionIsRetriedWithoutTheHandlerWhenTheStoreThrowsAnError() {
		BatchOf batch = batch(Mode.LEASED);
		batch.store().breakOnce(StoreCall.COMPLETE);
		assertThat(batch.run("a b").blocked()).containsOnlyKeys(0, 1);
		assertThat(batch.outcomes()).containsExactly(Outcome.REFUSED, Outcome.REFUSED);
		List.of("a", "b").forEach((letter) -> database.endLease(batch.key(letter)));
		batch.run("a b");
		assertThat(batch.runs()).containsExactly("a b");
		assertThat(batch.record("b").state()).isEqualTo(State.COMPLETED);
		batch.template().close();
	}

	@Test
	@Tag("promise-11")
	void failureIsRecordedLaterWhenTheStoreThrowsAnError() {
		BatchOf batch = batch(Mode.LEASED);
		batch.store().breakOnce(StoreCall.FAIL);
		assertThat(batch.run("a b", (seen) -> new IllegalStateException("handler")).failure()).hasMessage("handler");
		await().until(() -> batch.record("a").state() == State.FAILED && batch.record("b").state() == State.FAILED);
		batch.template().close();
	}

	@ParameterizedTest
	@EnumSource(names = { "COMPLETE", "FAIL" })
	@Tag("promise-1")
	void itemsAroundAFailureAreSettledWhenTheStoreThrowsAnError(StoreCall broken) {
		BatchOf batch = batch(Mode.LEASED);
		batch.store().breakOnce(broken);
		assertThat(batch.run("a b c", (seen) -> new IndexFailure(1)).failedAt()).isOne();
		assertThat(batch.record("c").state()).isEqualTo(State.FAILED);
		assertThat(batch.outcomes())
			.containsExactly((broken == StoreCall.COMPLETE) ? Outcome.REFUSED : Outcome.PROCESSED, Outcome.FAILED);
		await().until(() -> batch.record("a").state() == State.COMPLETED && batch.record("b").state() == State.FAILED);
		batch.template().close();
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void oneCallClaimsAndOneCompletes(Mode mode) {
		BatchOf batch = batch(mode);
		batch.complete("b", "old b");
		batch.run("a b c c d");
		String store = (mode == Mode.LEASED) ? "unreliable" : "jdbc";
		assertThat(batch.storeCalls()).containsExactly(store + " CLAIM", store + " COMPLETE");
		assertThat(batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.PROCESSED,
				Outcome.DUPLICATE, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	@Tag("promise-2")
	void itemInProgressElsewhereBlocksOnlyItsLane(Mode mode) {
		BatchOf batch = batch(mode);
		ClaimRequest other = batch.hold("b");
		BatchResult<String> executed = batch.run("a b c | x b y | z");
		assertThat(BatchOf.text(executed)).isEqualTo("a - - x - - z");
		assertThat(batch.runs()).containsExactly("a x z");
		assertThat(executed.blocked()).containsOnlyKeys(1, 4);
		assertThat(executed.failure()).isNull();
		assertThat(batch.effects()).containsExactly("a", "x", "z");
		one(database.store()).release(other);
		assertThat(BatchOf.text(batch.run("b c | b y"))).isEqualTo("b c [b] y");
		assertThat(batch.record("c").attempt()).isEqualTo(1);
		assertThat(batch.effects()).containsExactly("a", "b", "c", "x", "y", "z");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-2")
	void keyOfAnOpenTransactionBlocksOnlyItsLane(Mode mode) throws SQLException {
		BatchOf batch = batch(mode);
		try (Connection connection = database.pool().getConnection()) {
			connection.setAutoCommit(false);
			TransactionSynchronizationManager.bindResource(database.pool(), new ConnectionHolder(connection));
			one(database.store()).insert(TestDatabase.request(batch.key("b")));
			TransactionSynchronizationManager.unbindResource(database.pool());
			BatchResult<String> executed = batch.run("a b c | x");
			assertThat(BatchOf.text(executed)).isEqualTo("a - - x");
			assertThat(executed.blocked()).containsOnlyKeys(1);
			connection.commit();
		}
		assertThat(BatchOf.text(batch.run("b c"))).isEqualTo("[null] c");
		assertThat(batch.effects()).containsExactly("a", "c", "x");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	void itemsBeforeAFailureAreCompletedAndTheOthersReleased(Mode mode) {
		BatchOf batch = batch(mode);
		batch.complete("b", "old b");
		BatchResult<String> executed = batch.run("a b c d e",
				(seen) -> seen.contains("d") ? new IndexFailure(2) : null);
		assertThat(executed.failedAt()).isEqualTo(3);
		assertThat(executed.failure()).isInstanceOf(IndexFailure.class);
		assertThat(executed.results().get(0)).isNotNull();
		assertThat(executed.results().subList(3, 5)).containsExactly(null, null);
		assertThat(batch.record("a").state()).isEqualTo(State.COMPLETED);
		assertThat(batch.record("c").state()).isEqualTo(State.COMPLETED);
		assertThat(batch.record("d").state()).isEqualTo(State.FAILED);
		assertThat(batch.record("d").failure().message()).isEqualTo("no. 2");
		assertThat(BatchOf.text(batch.run("d e"))).isEqualTo("d e");
		assertThat(batch.record("d").attempt()).isEqualTo(2);
		assertThat(batch.record("e").attempt()).isEqualTo(1);
		if (mode == Mode.TRANSACTIONAL) {
			assertThat(batch.runs()).containsExactly("a c d e", "a c", "d e");
			assertThat(batch.effects()).containsExactly("a", "c", "d", "e");
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void failureOfAnUnknownItemFailsTheBatch(Mode mode) {
		BatchOf batch = batch(mode);
		batch.complete("b", "old b");
		BatchResult<String> executed = batch.run("a b c", (seen) -> new IllegalStateException("all"));
		assertThat(executed.failedAt()).isEqualTo(-1);
		assertThat(executed.failure()).hasMessage("all");
		assertThat(batch.record("a").state()).isEqualTo(State.FAILED);
		assertThat(batch.record("c").state()).isEqualTo(State.FAILED);
		assertThat(BatchOf.text(batch.run("a b c"))).isEqualTo("a [old b] c");
		assertThat(batch.record("a").attempt()).isEqualTo(2);
		if (mode == Mode.TRANSACTIONAL) {
			assertThat(batch.effects()).containsExactly("a", "c");
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-9")
	void itemWithOtherContentEndsTheBatchBeforeIt(Mode mode) {
		BatchOf batch = batch(mode);
		one(database.store()).claim(TestDatabase.request(batch.key("b"), "other"));
		List<BatchItem> items = Stream.of("a", "b", "c")
			.map((letter) -> new BatchItem(TestDatabase.operation(batch.key(letter), mode,
					Fingerprint.of(new byte[] { 1 }), TestDatabase.LEASE), 0))
			.toList();
		BatchResult<String> executed = batch.template().executeAll(items, ResultCodec.none(), (due) -> {
			assertThat(due).containsExactly(0);
			return null;
		});
		assertThat(executed.failedAt()).isEqualTo(1);
		assertThat(executed.failure()).isInstanceOf(IdempotencyKeyReusedException.class);
		assertThat(batch.record("a").state()).isEqualTo(State.COMPLETED);
		assertThat(one(database.store()).find(batch.key("c")).filter((one) -> one.state() != State.FAILED)).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void executionsBelongToTheItemsThatAreDue(Mode mode) {
		BatchOf batch = batch(mode);
		batch.complete("b", "old b");
		batch.run("a b - c", (seen) -> {
			assertThat(IdempotentExecution.currentBatch()).extracting((one) -> (one != null) ? one.key() : null)
				.containsExactly("a", null, "c");
			assertThatIllegalStateException().isThrownBy(IdempotentExecution::current);
			return null;
		});
		assertThatIllegalStateException().isThrownBy(IdempotentExecution::currentBatch);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void resultsAreNotStoredWhenTheirNumberDiffersFromThatOfTheItems(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.template()
			.executeAll(batch.items("a b"), new dev.idempotency.testsupport.TextCodec(), (due) -> List.of("one"));
		assertThat(BatchOf.text(executed)).isEqualTo("null null");
		assertThat(BatchOf.text(batch.run("a b"))).isEqualTo("[null] [null]");
	}

	@ParameterizedTest
	@EnumSource(names = "LEASED")
	@Tag("promise-4")
	void itemIsBlockedWhenAnotherOwnerHasTakenItOver(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a b c", (seen) -> {
			database.endLease(batch.key("b"));
			batch.hold("b");
			return null;
		});
		assertThat(BatchOf.text(executed)).isEqualTo("a - c");
		assertThat(executed.blocked().get(1)).isInstanceOf(OperationLostException.class);
		assertThat(batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.LOST, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@EnumSource(names = "LEASED")
	@Tag("promise-11")
	void completionsOfABatchAreRecordedLaterWhenTheStoreIsUnavailable(Mode mode) {
		BatchOf batch = batch(mode);
		batch.store().fail(StoreCall.COMPLETE);
		BatchResult<String> executed = batch.run("a b");
		assertThat(executed.blocked().values())
			.allSatisfy((reason) -> assertThat(reason).isInstanceOf(IdempotencyStoreUnavailableException.class));
		assertThat(BatchOf.text(executed)).isEqualTo("- -");
		assertThat(BatchOf.text(batch.run("a b"))).isEqualTo("- -");
		batch.store().recover();
		assertThat(BatchOf.text(batch.run("a b c"))).isEqualTo("[a] [b] c");
		assertThat(batch.runs()).containsExactly("a b", "c");
	}

	@ParameterizedTest
	@EnumSource(names = "LEASED")
	@Tag("promise-11")
	void unavailableStoreBlocksAllItemsOrNoneWhenFailOpen(Mode mode) {
		BatchOf closed = batch(mode);
		closed.store().fail(StoreCall.CLAIM);
		assertThat(closed.run("a | b").blocked()).containsOnlyKeys(0, 1);
		assertThat(closed.outcomes()).containsOnly(Outcome.UNAVAILABLE);
		BatchOf open = new BatchOf(database, mode, true);
		open.store().fail(StoreCall.CLAIM);
		assertThat(BatchOf.text(open.run("a a b"))).isEqualTo("a [a] b");
		assertThat(open.outcomes()).containsExactly(Outcome.UNPROTECTED, Outcome.DUPLICATE, Outcome.UNPROTECTED);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void itemAtWhichTheHandlerIsBlockedIsRedelivered(Mode mode) {
		BatchOf batch = batch(mode);
		OperationInProgressException blocked = new OperationInProgressException("nested", Duration.ofMillis(1));
		BatchResult<String> executed = batch.run("a b c | x",
				(seen) -> seen.contains("b") ? new IndexFailure(seen.indexOf("b"), blocked) : null);
		assertThat(executed.failure()).isNull();
		assertThat(executed.blocked()).containsOnlyKeys(1);
		assertThat(executed.results().get(0)).isNotNull();
		assertThat(batch.record("a").state()).isEqualTo(State.COMPLETED);
		assertThat(one(database.store()).find(batch.key("b")).filter((one) -> one.failure() != null)).isEmpty();
		assertThat(batch.run("b c | x").results()).doesNotContainNull();
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void batchWhoseHandlerIsBlockedIsRedelivered(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a b",
				(seen) -> new OperationInProgressException("nested", Duration.ofMillis(1)));
		assertThat(executed.failure()).isNull();
		assertThat(executed.blocked()).containsOnlyKeys(0, 1);
		assertThat(BatchOf.text(batch.run("a b"))).isEqualTo("a b");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-1")
	void blockedHandlerHasNotFailedAndUsesNoAttemptInAnyShape(Mode mode) {
		BatchOf batch = batch(mode);
		Exception blocked = new IllegalStateException("wrapped",
				new OperationInProgressException("nested", Duration.ofMillis(1)));
		assertThatThrownBy(() -> runSingle(batch, "s", blocked)).isSameAs(blocked);
		assertThatThrownBy(() -> runSingle(batch, "n", new NackedException())).isInstanceOf(NackedException.class);
		batch.run("a b", (seen) -> seen.contains("a") ? new IndexFailure(0, blocked) : null);
		batch.run("u", (seen) -> blocked);
		assertThat(batch.outcomes()).containsExactly(Outcome.BLOCKED, Outcome.BLOCKED, Outcome.BLOCKED,
				Outcome.BLOCKED);
		List<String> all = List.of("s", "n", "a", "u");
		all.forEach(
				(letter) -> assertThat(one(database.store()).find(batch.key(letter)).map(IdempotencyRecord::failure))
					.isEmpty());
		batch.run(String.join(" ", all));
		assertThat(all).allSatisfy((letter) -> assertThat(batch.record(letter).attempt()).isOne());
	}

	private static void runSingle(BatchOf batch, String letter, Exception failure) throws Exception {
		batch.template()
			.execute(Objects.requireNonNull(batch.items(letter).get(0).operation()), ResultCodec.none(), () -> {
				throw failure;
			});
	}

	@Test
	@Tag("promise-11")
	void itemAtWhichAHandlerWithoutProtectionIsBlockedIsRedelivered() {
		BatchOf open = new BatchOf(database, Mode.LEASED, true);
		open.store().fail(StoreCall.CLAIM);
		BatchResult<String> executed = open.run("a b c | x",
				(seen) -> !seen.contains("b") ? null : new IndexFailure(seen.indexOf("b"),
						new OperationInProgressException("nested", Duration.ofMillis(1))));
		assertThat(executed.failure()).isNull();
		assertThat(executed.blocked()).containsOnlyKeys(1);
		assertThat(open.outcomes()).containsExactly(Outcome.UNPROTECTED, Outcome.BLOCKED, Outcome.UNPROTECTED);
	}

	@Test
	@Tag("promise-11")
	void itemsBeforeAFailureAreDoneWithoutProtection() {
		BatchOf open = new BatchOf(database, Mode.LEASED, true);
		open.store().fail(StoreCall.CLAIM);
		BatchResult<String> executed = open.run("a b c", (seen) -> new IndexFailure(1));
		assertThat(BatchOf.text(executed)).isEqualTo("null - -");
		assertThat(executed.failedAt()).isEqualTo(1);
		assertThat(open.outcomes()).containsExactly(Outcome.UNPROTECTED, Outcome.FAILED);
	}

	@Test
	@Tag("promise-11")
	void failureAtAnUnknownItemFailsABatchWithoutProtection() {
		BatchOf open = new BatchOf(database, Mode.LEASED, true);
		open.store().fail(StoreCall.CLAIM);
		BatchResult<String> executed = open.run("a b", (seen) -> new IllegalStateException("handler"));
		assertThat(executed.failedAt()).isEqualTo(-1);
		assertThat(executed.failure()).hasMessage("handler");
		assertThat(open.outcomes()).containsExactly(Outcome.FAILED, Outcome.FAILED);
	}

	@Test
	@Tag("promise-3")
	void batchWhoseHandlerRequestsARollbackIsCompletedWithoutEffect() {
		BatchOf batch = batch(Mode.TRANSACTIONAL);
		TransactionBoundary withoutEffect = TransactionBoundary.of(new DefaultTransactionDefinition(), () -> true);
		assertThat(BatchOf.text(batch.run("a - b", withoutEffect, (seen) -> null))).isEqualTo("a - b");
		assertThat(batch.effects()).isEmpty();
		assertThat(BatchOf.text(batch.run("a b"))).isEqualTo("[a] [b]");
		assertThat(BatchOf.text(batch.run("-", withoutEffect, (seen) -> null))).isEqualTo("-");
		assertThat(batch.effects()).isEmpty();
	}

	private static List<BatchItem> largeBatch(Mode mode, Duration lease) {
		return IntStream.range(0, 1200)
			.mapToObj(
					(index) -> new BatchItem(TestDatabase.operation(TestDatabase.newKey(), mode, null, lease), "lane"))
			.toList();
	}

	// Of a batch of any size, each call has the time-out of one call.
	@Test
	@Tag("promise-11")
	void largeBatchEndsAlthoughNoCallCanClaimAllItsKeys() {
		UnreliableStore store = new UnreliableStore(new InMemoryIdempotencyStore());
		store.timeOutAbove(500);
		try (IdempotencyTemplate template = new IdempotencyTemplate(store,
				new Settings(null, false, Observers.none()))) {
			List<BatchItem> items = largeBatch(Mode.LEASED, Duration.ofSeconds(3));
			AtomicInteger runs = new AtomicInteger();
			BatchHandler<Object> handler = (due) -> {
				runs.addAndGet(due.size());
				await().until(() -> store.renewals().stream().mapToInt(Integer::intValue).sum() >= 1200);
				return null;
			};
			assertThat(template.executeAll(items, ResultCodec.none(), handler).blocked()).isEmpty();
			assertThat(template.executeAll(items, ResultCodec.none(), handler).results())
				.allMatch(IdempotentResult::duplicate);
			assertThat(store.renewals()).allMatch((keys) -> keys <= 500);
			assertThat(runs).hasValue(1200);
		}
	}

	// The store refuses a call for several keys after it has claimed some of them.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-2")
	void itemWhoseClaimIsRefusedAloneTooLeavesNoClaimBehind(boolean contended) {
		BatchOf batch = new BatchOf(database, Mode.LEASED, false);
		RuntimeException refusal = contended ? new OperationInProgressException("held", Duration.ZERO)
				: new IdempotencyStoreRefusedException("refused", null);
		AtomicInteger asked = new AtomicInteger();
		batch.store().before(StoreCall.CLAIM, (request) -> {
			if (request.key().equals(batch.key("a")) && asked.incrementAndGet() == 2) {
				throw refusal;
			}
		});
		batch.store().afterClaim((request) -> {
			if (asked.get() == 1) {
				throw refusal;
			}
		});
		assertThat(BatchOf.text(batch.run("a | b"))).isEqualTo("- b");
		batch.store().recover();
		await().until(() -> batch.record("a").state() == State.FAILED);
		batch.template().close();
	}

	@Test
	@Tag("promise-11")
	void itemsOfALargeBatchThatAreClaimedRunWhenTheStoreBecomesUnavailable() {
		UnreliableStore store = new UnreliableStore(new InMemoryIdempotencyStore());
		try (IdempotencyTemplate template = new IdempotencyTemplate(store,
				new Settings(null, false, Observers.none()))) {
			List<BatchItem> items = largeBatch(Mode.LEASED, TestDatabase.LEASE);
			AtomicInteger runs = new AtomicInteger();
			BatchHandler<Object> handler = (due) -> {
				runs.addAndGet(due.size());
				return null;
			};
			IdempotencyKey lost = items.get(700).operation().key();
			store.before(StoreCall.CLAIM, (claim) -> {
				if (claim.key().equals(lost)) {
					throw new DataAccessResourceFailureException("No answer");
				}
			});
			BatchResult<Object> first = template.executeAll(items, ResultCodec.none(), handler);
			assertThat(first.results().stream().filter(Objects::nonNull)).hasSize(500);
			assertThat(first.blocked()).containsKey(500);
			store.recover();
			assertThat(template.executeAll(items, ResultCodec.none(), handler).blocked()).isEmpty();
			assertThat(runs).hasValue(1200);
		}
	}

	@Test
	@Tag("promise-11")
	void transactionOfALargeBatchHasSeveralCalls() {
		RecordingObserver listener = new RecordingObserver();
		try (IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
				new Settings(new JdbcTransactionManager(database.pool()), false, listener.observers()))) {
			List<BatchItem> items = largeBatch(Mode.TRANSACTIONAL, TestDatabase.LEASE);
			BatchHandler<String> handler = (due) -> Collections.nCopies(due.size(), "done");
			template.executeAll(items, new TextCodec(), handler);
			assertThat(listener.storeCalls()).containsExactly("jdbc CLAIM", "jdbc CLAIM", "jdbc CLAIM", "jdbc COMPLETE",
					"jdbc COMPLETE", "jdbc COMPLETE");
			assertThat(template.executeAll(items, new TextCodec(), handler).results())
				.allMatch((result) -> result.equals(new IdempotentResult<>("done", true)));
		}
	}

	@Test
	void operationsOfAnotherModeThanTheirBatchAreRejected() {
		BatchOf batch = batch(Mode.LEASED);
		assertThatIllegalArgumentException()
			.isThrownBy(() -> batch.template()
				.executeAll(batch.items("a"), Mode.TRANSACTIONAL, ResultCodec.none(), TransactionBoundary.DEFAULT,
						(due) -> null))
			.withMessageContaining("must have the mode of the batch, TRANSACTIONAL");
	}

	@Test
	void modeThatTheTemplateDoesNotSupportIsRejected() {
		BatchOf leased = batch(Mode.LEASED);
		assertThatIllegalStateException().isThrownBy(() -> leased.template()
			.execute(TestDatabase.operation(leased.key("a"), Mode.TRANSACTIONAL), ResultCodec.none(), () -> null));
	}

	@ParameterizedTest
	@EnumSource(names = "LEASED")
	void onlyTheUnreadableRecordIsBlocked(Mode mode) {
		BatchOf batch = batch(mode);
		batch.store().before(StoreCall.CLAIM, (request) -> {
			if (request.key().equals(batch.key("b"))) {
				throw new IdempotencyRecordUnreadableException("Not a record", null);
			}
		});
		assertThat(BatchOf.text(batch.run("a b c | x"))).isEqualTo("a - - x");
	}

	@ParameterizedTest
	@EnumSource(names = "TRANSACTIONAL")
	@Tag("promise-5")
	void batchIsRejectedInATransactionOfTheCaller(Mode mode) {
		BatchOf batch = batch(mode);
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		assertThatIllegalStateException().isThrownBy(() -> transaction.executeWithoutResult((status) -> batch.run("a")))
			.withMessageContaining("cannot join a transaction");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-2")
	void twoBatchesAtOnceRunEachKeyOnce(Mode mode) throws Exception {
		BatchOf batch = batch(mode);
		String forth = "a b c d e f g h";
		String back = "h g f e d c b a";
		Thread other = new Thread(() -> runUntilDone(batch, back));
		other.start();
		runUntilDone(batch, forth);
		other.join(Duration.ofSeconds(30).toMillis());
		assertThat(batch.effects()).containsExactly("a", "b", "c", "d", "e", "f", "g", "h");
	}

	private static void runUntilDone(BatchOf batch, String letters) {
		while (batch.run(letters).results().contains(null)) {
			Thread.onSpinWait();
		}
	}

}
