/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestDynamoDb;
import dev.idempotency.testsupport.TestRedis;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a result that is too large for the store: its operation is completed without
 * it, in every mode and shape.
 */
@Tag("promise-8")
class ResultSizeTests {

	private static final String LARGE = "too large";

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@RegisterExtension
	static TestDatabase effects = EffectOperation.createDatabase();

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	@RegisterExtension
	static TestDynamoDb dynamoDb = TestDynamoDb.create();

	private final AtomicInteger runs = new AtomicInteger();

	private final RecordingObserver listener = new RecordingObserver();

	static Stream<Named<IdempotencyStore>> stores() {
		return Stream.of(Named.of("PostgreSQL", database.store()), Named.of("Redis", redis.store()),
				Named.of("DynamoDB", dynamoDb.store()));
	}

	private IdempotencyTemplate template(IdempotencyStore store) {
		return new IdempotencyTemplate(store,
				new Settings(null, new JdbcTransactionManager(database.pool()), false, StoreCircuit.ALWAYS_CLOSED,
						CompletionCache.NONE, this.listener.observers(), List.of(),
						DataSize.ofBytes(LARGE.length() - 1), null, OperationSpec.Defaults.STANDARD));
	}

	private String execute(IdempotencyTemplate template, IdempotentOperation operation, String result) {
		return template.execute(operation, new TextCodec(), () -> {
			this.runs.incrementAndGet();
			return result;
		}).result();
	}

	private static IdempotentOperation operation(Mode mode) {
		return TestDatabase.operation(TestDatabase.newKey(), mode);
	}

	private static State state(IdempotencyStore store, IdempotencyKey key) {
		return one(store).find(key).orElseThrow().state();
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	void operationIsCompletedWithoutItsResultInLeasedMode(IdempotencyStore store) {
		assertCompletedWithoutResult(store, operation(Mode.LEASED));
	}

	@Test
	void operationIsCompletedWithoutItsResultInTransactionalMode() {
		assertCompletedWithoutResult(database.store(), operation(Mode.TRANSACTIONAL));
	}

	private void assertCompletedWithoutResult(IdempotencyStore store, IdempotentOperation operation) {
		try (IdempotencyTemplate template = template(store); Logs logs = Logs.ofThisThread()) {
			assertThat(execute(template, operation, LARGE)).isEqualTo(LARGE);
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("topic-0@7", operation.key().value(), "9 bytes", "'idempotency.result.maximum-size' (8)",
						"its duplicates have no result")
				.doesNotContain(LARGE);
			assertThat(state(store, operation.key())).isEqualTo(State.COMPLETED);
			assertThat(execute(template, operation, LARGE)).isNull();
			assertThat(logs.messages("ERROR")).hasSize(1);
			assertThat(this.runs).hasValue(1);
			assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
			assertThat(this.listener.completions()).containsExactly("without result " + operation.key().value());
			assertThat(template.admin().outcome(operation.key()).map(StoredOutcome::resultNotStored))
				.isEqualTo(store.records().map((records) -> true));
		}
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	void resultOfTheMaximumSizeIsReplayed(IdempotencyStore store) {
		try (IdempotencyTemplate template = template(store)) {
			IdempotentOperation operation = operation(Mode.LEASED);
			String result = LARGE.substring(1);
			execute(template, operation, result);
			assertThat(execute(template, operation, LARGE)).isEqualTo(result);
		}
	}

	@Test
	void asyncOperationAnswersAndIsCompleted() {
		try (IdempotencyTemplate template = template(database.store())) {
			IdempotentOperation operation = operation(Mode.LEASED);
			assertThat(template.executeAsync(operation, new TextCodec(), () -> CompletableFuture.completedFuture(LARGE))
				.join()).isEqualTo(new IdempotentResult<>(LARGE, false));
			assertThat(state(database.store(), operation.key())).isEqualTo(State.COMPLETED);
		}
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void itemsOfABatchAreCompletedInOneRun(Mode mode) {
		try (IdempotencyTemplate template = template(database.store())) {
			Items items = new Items(mode, "a", LARGE, "b", LARGE);
			BatchResult<String> first = items.execute(template);
			assertThat(first.failure()).isNull();
			assertThat(first.results()).extracting(IdempotentResult::result).containsExactly("a", LARGE, "b", LARGE);
			assertThat(items.execute(template).results()).containsExactly(duplicate("a"), duplicate(null),
					duplicate("b"), duplicate(null));
			assertThat(items.seen).containsExactly(List.of(0, 1, 2, 3));
		}
	}

	private static IdempotentResult<String> duplicate(String result) {
		return new IdempotentResult<>(result, true);
	}

	@Test
	@Tag("promise-5")
	void effectOfATransactionIsCommitted() {
		EffectOperation effect = new EffectOperation(effects, new JdbcTransactionManager(effects.pool()),
				DataSize.ofBytes(1));
		assertThat(effect.run().result()).isEqualTo("run 1");
		assertThat(effect.run()).isEqualTo(duplicate(null));
		assertThat(effect.effects()).isOne();
	}

	@Test
	void completionWaitsForTheTransactionOfTheCaller() {
		List<PendingCompletion> pending = new ArrayList<>();
		try (IdempotencyTemplate template = template(database.store())) {
			IdempotentOperation operation = operation(Mode.LEASED);
			assertThat(template.execute(operation, new TextCodec(), TransactionBoundary.deferred(pending::add), null,
					() -> LARGE))
				.isEqualTo(new IdempotentResult<>(LARGE, false));
			assertThat(state(database.store(), operation.key())).isEqualTo(State.IN_PROGRESS);
			pending.forEach(PendingCompletion::complete);
			assertThat(execute(template, operation, LARGE)).isNull();
		}
	}

	/**
	 * A batch whose items have given results.
	 */
	private static final class Items implements BatchHandler<String> {

		private final List<List<Integer>> seen = new ArrayList<>();

		private final List<String> results;

		private final List<BatchItem> items;

		Items(Mode mode, String... results) {
			this.results = List.of(results);
			this.items = Arrays.stream(results).map((result) -> new BatchItem(operation(mode), "lane")).toList();
		}

		@Override
		public List<String> handle(List<Integer> due) {
			this.seen.add(List.copyOf(due));
			return due.stream().map(this.results::get).toList();
		}

		BatchResult<String> execute(IdempotencyTemplate template) {
			return template.executeAll(this.items, new TextCodec(), this);
		}

	}

}
