/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.migration;

import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.OffsetMarks.StoredMark;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Tests for {@link OffsetMarkCopy}.
 */
@Tag("promise-3")
class OffsetMarkCopyTests {

	private static final UUID TOPIC_ID = UUID.randomUUID();

	@AutoClose
	private final TestDatabase old = TestDatabase.h2();

	@AutoClose
	private final TestDatabase database = TestDatabase.create();

	private final PlatformTransactionManager transactions = new JdbcTransactionManager(this.database.pool());

	private static OffsetMark mark(int partition, long offset) {
		return new OffsetMark("scope", "topic", TOPIC_ID, partition, offset);
	}

	private static OffsetMarks marks(TestDatabase database) {
		return database.store().offsetMarks().orElseThrow();
	}

	// The position of an offset is its partition.
	private static void raise(TestDatabase database, long... offsets) {
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		transaction.executeWithoutResult((status) -> {
			for (int partition = 0; partition < offsets.length; partition++) {
				marks(database).raise(List.of(mark(partition, offsets[partition])), false).get(0);
			}
		});
	}

	private void copy(IdempotencyStore target, PlatformTransactionManager manager) {
		OffsetMarkCopy.copy("old", this.old.store(), target, manager);
	}

	private void assertMarks(long... offsets) {
		assertThat(marks(this.database).list(10)).extracting(StoredMark::offset)
			.containsExactlyElementsOf(LongStream.of(offsets).boxed().toList());
	}

	@Test
	void marksAreCopiedUnlessTheTargetHasHigherOnes() {
		raise(this.old, 7, 7, 7);
		raise(this.database, 5, 9);
		copy(this.database.store(), this.transactions);
		assertMarks(7, 9, 7);
		assertThat(marks(this.database).list(10).get(2))
			.extracting(StoredMark::scope, StoredMark::topic, StoredMark::topicId, StoredMark::partition)
			.isEqualTo(tuple("scope", "topic", TOPIC_ID, 2).toList());
	}

	@Test
	void copyDoesNotWaitForAMarkThatARunningInstanceRaises() {
		raise(this.old, 7);
		raise(this.database, 7);
		new TransactionTemplate(this.transactions).executeWithoutResult((status) -> {
			marks(this.database).raise(List.of(mark(0, 8)), false).get(0);
			CompletableFuture.runAsync(() -> copy(this.database.store(), this.transactions)).join();
		});
		assertMarks(8);
	}

	@Test
	@Tag("promise-12")
	void marksThatCannotBeStoredCauseAWarning() {
		try (Logs logs = new Logs()) {
			copy(new InMemoryIdempotencyStore(), null);
			assertThat(logs.messages("WARN")).isEmpty();
			raise(this.old, 7, 7);
			copy(new InMemoryIdempotencyStore(), null);
			copy(this.database.store(), null);
			assertThat(logs.messages("WARN")).hasSize(2)
				.allMatch((warning) -> warning.startsWith("The store 'old' has marks of processed offsets in the "
						+ "scopes ['scope'], and the store to which its keys move cannot store marks"));
			assertMarks();
		}
	}

}
