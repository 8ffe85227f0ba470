/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.contract.Endings;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the column {@code completed_at}.
 */
class CompletionTimeTests {

	static Stream<Named<TestDatabase>> databases() {
		return Stream.of(Named.of("single", TestDatabase.create()), Named.of("partitioned", TestDatabase.partitioned()),
				Named.of("H2", TestDatabase.h2()));
	}

	@ParameterizedTest
	@MethodSource("databases")
	void completionTimeIsNullAfterTheNextClaimOrFailure(TestDatabase database) {
		try (database) {
			assertCleared(database, (store, request) -> store.claim(List.of(request)));
			assertCleared(database, (store, request) -> store
				.settleAfterTransaction(Endings.failed(List.of(request), new Failure("x", "y")), List.of()));
		}
	}

	private static void assertCleared(TestDatabase database,
			BiConsumer<JdbcIdempotencyStore, ClaimRequest> transition) {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(request);
		one(database.store()).complete(request, null);
		assertThat(database.record(request.key()).completedAt()).isNotNull();
		database.endRetention(request.key());
		transition.accept(database.store(), TestDatabase.request(request.key()));
		assertThat(database.jdbc()
			.queryForObject("SELECT count(*) FROM idempotency_record WHERE id = ? AND completed_at IS NULL",
					Integer.class, request.key().id()))
			.isOne();
	}

}
