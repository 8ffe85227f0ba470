/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate} in {@link Mode#TRANSACTIONAL}.
 */
@ParameterizedClass
@MethodSource("managers")
@Tag("promise-5")
class TransactionalTemplateTests {

	@RegisterExtension
	static TestDatabase database = EffectOperation.createDatabase();

	@Parameter
	private PlatformTransactionManager manager;

	private EffectOperation operation;

	static List<Named<PlatformTransactionManager>> managers() {
		return EffectOperation.managers(database.pool());
	}

	@BeforeEach
	void createOperation() {
		this.operation = new EffectOperation(database, this.manager);
	}

	@Test
	void handlerWritesInTheTransactionOfTheRecord() {
		this.operation.<RuntimeException>run((jdbc) -> {
			assertThat(this.operation.effects()).isZero();
			assertThat(this.operation.record()).isEmpty();
		});
		assertThat(this.operation.effects()).isOne();
		assertThat(this.operation.record()).get().extracting(IdempotencyRecord::state).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateReplaysTheFirstResultWithoutRunning() {
		assertThat(this.operation.run()).isEqualTo(new IdempotentResult<>("run 1", false));
		assertThat(this.operation.run()).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.operation.effects()).isOne();
	}

	@Test
	void listenerIsNotifiedOfTheOutcomes() {
		this.operation.run();
		this.operation.run();
		assertThat(this.operation.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
	}

	@Test
	void isolationOfTheDefinitionApplies() {
		DefaultTransactionDefinition serializable = new DefaultTransactionDefinition();
		serializable.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
		IdempotentResult<String> first = this.operation.<RuntimeException>run(serializable,
				(jdbc) -> assertThat(jdbc.execute(Connection::getTransactionIsolation))
					.isEqualTo(Connection.TRANSACTION_SERIALIZABLE));
		assertThat(first.duplicate()).isFalse();
	}

	@Test
	@Tag("promise-3")
	void duplicateIsFoundAtEachIsolationLevel() {
		DefaultTransactionDefinition serializable = new DefaultTransactionDefinition();
		serializable.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
		this.operation.run();
		assertThat(this.operation.<RuntimeException>run(serializable, (jdbc) -> {
		})).isEqualTo(new IdempotentResult<>("run 1", true));
	}

	// A record that waits too long for the winner is redelivered.
	private boolean deliver() {
		return await().pollInSameThread()
			.pollDelay(Duration.ZERO)
			.ignoreException(OperationInProgressException.class)
			.until(() -> this.operation.run().duplicate(), (duplicate) -> true);
	}

	@Test
	@Tag("promise-2")
	void sixteenThreadsHaveOneEffect() throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(16);
		Callable<Boolean> delivery = this::deliver;
		List<Boolean> duplicates = new ArrayList<>();
		for (Future<Boolean> done : executor.invokeAll(IntStream.range(0, 16).mapToObj((i) -> delivery).toList())) {
			duplicates.add(done.get());
		}
		executor.shutdown();
		assertThat(duplicates).containsOnlyOnce(false).hasSize(16);
		assertThat(this.operation.effects()).isOne();
	}

}
