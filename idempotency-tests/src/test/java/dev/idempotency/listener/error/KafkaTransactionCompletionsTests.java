/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.SimpleTransactionStatus;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.TransactionBoundary;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link KafkaTransactionCompletions}, without a broker.
 */
class KafkaTransactionCompletionsTests {

	private final IdempotencyStore store = new InMemoryIdempotencyStore();

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, false, Observers.none()));

	@AfterEach
	void close() {
		this.template.close();
	}

	@Test
	@Tag("promise-3")
	void bothCompletionsOfOneTransactionAreRecorded() {
		List<IdempotencyKey> keys = List.of(TestDatabase.newKey(), TestDatabase.newKey());
		TransactionExecution transaction = new SimpleTransactionStatus();
		KafkaTransactionCompletions.LISTENER.afterBegin(transaction, null);
		keys.forEach((key) -> this.template.execute(TestDatabase.operation(key, Mode.LEASED), ResultCodec.none(),
				TransactionBoundary.deferred(KafkaTransactionCompletions::hold), null, () -> null));
		KafkaTransactionCompletions.LISTENER.beforeCommit(transaction);
		KafkaTransactionCompletions.LISTENER.afterCommit(transaction, null);
		assertThat(keys).allSatisfy(
				(key) -> assertThat(one(this.store).find(key).orElseThrow().state()).isEqualTo(State.COMPLETED));
	}

}
