/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the texts that {@link JdbcIdempotencyStore} stores for operators. Its
 * contract tests the rest.
 */
class JdbcIdempotencyStoreTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@ParameterizedTest
	@ValueSource(strings = { "it's; DROP TABLE idempotency_record --", "\"q\" \\ $1 ? :name {d}", "\uD83D\uDE80 Zoë",
			"a%b_c" })
	void unusualCharactersAreStoredUnchanged(String text) {
		assertKept(IdempotencyKey.of(text, text + Servers.unique(".")));
	}

	// As after a failover. The health would be up while no record can be claimed.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-11")
	void serverThatOnlyReadsDoesNotAnswerAPing(boolean postgres) {
		String url = postgres ? database.url() + "?options=-c%20default_transaction_read_only=on"
				: Servers.newMariaDb();
		if (!postgres) {
			try (HikariDataSource writable = Servers.mySqlPool(url)) {
				JdbcSchemaMigration.migrate(writable, TestDatabase.TABLE);
			}
			url += "&sessionVariables=tx_read_only=1";
		}
		try (HikariDataSource pool = postgres ? Servers.pool(url) : Servers.mySqlPool(url)) {
			JdbcIdempotencyStore readOnly = new JdbcIdempotencyStore(pool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(readOnly::ping);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(readOnly).claim(TestDatabase.request(TestDatabase.newKey())));
		}
	}

	@Test
	void longestKeyIsStoredUnchanged() {
		assertKept(IdempotencyKey.of("\uFFE5".repeat(512), "\uFFE5".repeat(512)));
	}

	private static void assertKept(IdempotencyKey key) {
		one(database.store()).claim(TestDatabase.request(key));
		assertThat(database.jdbc()
			.queryForObject("SELECT key FROM idempotency_record WHERE scope = ? AND id = ?", String.class, key.scope(),
					key.id()))
			.isEqualTo(key.value());
	}

}
