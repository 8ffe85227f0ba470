/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotentExecution#nextKey()} and
 * {@link IdempotentExecution#ifCurrent()}.
 */
class NextKeyTests {

	private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, false, Observers.none()));

	private final IdempotencyKey key = IdempotencyKey.of("ledger", "order-1");

	@AfterEach
	void close() {
		this.template.close();
	}

	private String run(IdempotencyKey key) {
		return this.template.execute(operation(key), new TextCodec(), NextKeyTests::threeKeys).result();
	}

	private static IdempotentOperation operation(IdempotencyKey key) {
		return TestDatabase.operation(key, Mode.LEASED);
	}

	private static String threeKeys() {
		return String.join(" ",
				Stream.generate(() -> IdempotentExecution.current().nextKey()).limit(3).toArray(String[]::new));
	}

	@Test
	void keysAreTheHashOfScopeAndKeyAndAPosition() {
		assertThat(run(this.key).split(" ")).containsExactly(this.key.id() + "-0", this.key.id() + "-1",
				this.key.id() + "-2");
	}

	@Test
	void keysAreTheSameInEveryRelease() {
		assertThat(run(IdempotencyKey.of("payments", "order-1"))).startsWith("cbaecca4-e0d2-4e52-454c-63663afa85aa-0 ");
	}

	@Test
	void longestKeyYieldsShortValidKeys() {
		IdempotencyKey longest = IdempotencyKey.of("s".repeat(512), "k".repeat(512));
		assertThat(run(longest).split(" ")).allMatch((next) -> next.length() < 50)
			.allMatch((next) -> IdempotencyKey.problem(next) == null);
	}

	@Test
	void otherScopeHasOtherKeys() {
		assertThat(run(this.key).split(" "))
			.doesNotContainAnyElementsOf(List.of(run(IdempotencyKey.of("mail", "order-1")).split(" ")));
	}

	@Test
	void executionAfterAFailureHasTheSameKeys() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(operation(this.key), new TextCodec(), () -> {
				throw new IllegalStateException(threeKeys());
			}))
			.satisfies((ex) -> assertThat(ex.getMessage()).isEqualTo(run(this.key)));
		assertThat(one(this.store).find(this.key).orElseThrow().attempt()).isEqualTo(2);
	}

	@Test
	void executionAfterAnEvictionHasTheSameKeys() {
		String first = run(this.key);
		this.template.admin().evict(this.key, false, null);
		IdempotentResult<String> again = this.template.execute(operation(this.key), new TextCodec(),
				NextKeyTests::threeKeys);
		assertThat(again).isEqualTo(new IdempotentResult<>(first, false));
	}

	@Test
	void nestedHandlerHasItsOwnKeys() {
		IdempotencyKey inner = IdempotencyKey.of("mail", "order-1");
		this.template.execute(operation(this.key), new TextCodec(), () -> {
			assertThat(IdempotentExecution.current().nextKey()).isEqualTo(this.key.id() + "-0");
			assertThat(run(inner)).startsWith(inner.id() + "-0 ");
			assertThat(IdempotentExecution.current().nextKey()).isEqualTo(this.key.id() + "-1");
			return null;
		});
	}

	// The positions of the keys that a handler creates in transactions.
	private List<String> positions(BiConsumer<TransactionTemplate, List<String>> handler) {
		try (TestDatabase database = TestDatabase.h2()) {
			TransactionTemplate transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
			transactions.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
			List<String> keys = new ArrayList<>();
			this.template.execute(operation(this.key), new TextCodec(), () -> {
				handler.accept(transactions, keys);
				return null;
			});
			return keys.stream().map((drawn) -> drawn.substring((this.key.id() + "-").length())).toList();
		}
	}

	// Without the hash of topic and type.
	private static String transactional(IdempotentExecution execution) {
		String drawn = execution.nextTransactionalKey("topic", "type");
		return drawn.substring(0, drawn.lastIndexOf('-'));
	}

	@Test
	void transactionalKeyDependsOnTopicAndType() {
		List<String> keys = positions((transactions, drawn) -> transactions.executeWithoutResult((status) -> {
			for (String[] kind : new String[][] { { "topic", "type" }, { "topic", "other" }, { "topi", "ctype" },
					{ "t".repeat(249), "t".repeat(255) }, { "topic", "type" } }) {
				drawn.add(IdempotentExecution.current().nextTransactionalKey(kind[0], kind[1]));
			}
		}));
		assertThat(keys).allMatch((key) -> key.matches("[0-4]-[0-9a-f]{12}"));
		List<String> kinds = keys.stream().map((key) -> key.substring(2)).toList();
		assertThat(kinds.subList(0, 4)).doesNotHaveDuplicates();
		assertThat(kinds.get(4)).isEqualTo(kinds.get(0)).isEqualTo("616de2e5a6fb");
	}

	@Test
	void keyOfARolledBackTransactionIsReusedUnlessALaterKeyIsInUse() {
		assertThat(positions((transactions, keys) -> {
			IdempotentExecution execution = IdempotentExecution.current();
			transactions.executeWithoutResult((status) -> {
				keys.add(transactional(execution));
				transactions.executeWithoutResult((inner) -> keys.add(transactional(execution)));
				keys.add(transactional(execution));
				status.setRollbackOnly();
			});
			transactions.executeWithoutResult((status) -> {
				keys.add(transactional(execution));
				keys.add(execution.nextKey());
				status.setRollbackOnly();
			});
			keys.add(transactional(execution));
		})).containsExactly("0", "1", "2", "2", "3", "4");
	}

	@Test
	void keyOfATransactionAfterARollbackIsNotReused() {
		assertThat(positions((transactions, keys) -> {
			IdempotentExecution execution = IdempotentExecution.current();
			transactions.executeWithoutResult((status) -> {
				TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void afterCompletion(int end) {
						transactions.executeWithoutResult((next) -> keys.add(transactional(execution)));
					}

				});
				keys.add(transactional(execution));
				status.setRollbackOnly();
			});
			keys.add(transactional(execution));
		})).containsExactly("0", "0", "1");
	}

	@Test
	void noExecutionIsCurrentOutsideOfAHandler() {
		assertThat(IdempotentExecution.ifCurrent()).isNull();
		run(this.key);
		assertThat(IdempotentExecution.ifCurrent()).isNull();
		assertThatIllegalStateException().isThrownBy(IdempotentExecution::current)
			.withMessage("No idempotent execution runs on this thread");
	}

	@Test
	void executionOfTheHandlerIsCurrent() {
		this.template.execute(operation(this.key), new TextCodec(), () -> {
			assertThat(IdempotentExecution.ifCurrent()).isNotNull().isSameAs(IdempotentExecution.current());
			return null;
		});
	}

	@Test
	void batchHasNoSingleCurrentExecution() {
		List<BatchItem> items = Stream.of("a", "b")
			.map((value) -> new BatchItem(operation(IdempotencyKey.of("ledger", value)), 0))
			.toList();
		BatchResult<String> executed = this.template.executeAll(items, new TextCodec(), (due) -> {
			assertThat(IdempotentExecution.ifCurrent()).isNull();
			assertThatIllegalStateException().isThrownBy(IdempotentExecution::current)
				.withMessage("A batch runs on this thread. Call currentBatch()");
			return IdempotentExecution.currentBatch().stream().map(IdempotentExecution::nextKey).toList();
		});
		assertThat(executed.failure()).isNull();
		assertThat(executed.results()).extracting(IdempotentResult::result)
			.containsExactly(IdempotencyKey.of("ledger", "a").id() + "-0",
					IdempotencyKey.of("ledger", "b").id() + "-0");
	}

}
