/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link TableName}.
 */
class TableNameTests {

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "a b", "a;DROP TABLE payment", "a--", "\"a\"", "a'", "a.b.c", ".a", "a.", "1a",
			"a\n", "ä", "a(b)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" })
	void nameThatIsNoPlainIdentifierIsRefused(String name) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> TableName.of(name))
			.withMessageContaining("'" + name + "'");
	}

	@Test
	void schemaIsNullForANameWithoutSchema() {
		assertThat(TableName.of("records_1")).isEqualTo(new TableName(null, "records_1"));
	}

	@Test
	void nameWithSchemaIsSplit() {
		assertThat(TableName.of("ops.records_1")).isEqualTo(new TableName("ops", "records_1"));
	}

	@Test
	void textIsTheNameItself() {
		assertThat(TableName.of("ops.records_1")).hasToString("ops.records_1");
	}

	// The database ignores their case, but its catalog and Flyway do not.
	@Test
	void namesInAnotherCaseAreEqual() {
		assertThat(TableName.of("Ops.RECORDS_1")).isEqualTo(TableName.of("ops.records_1"));
	}

	@Test
	void longestNameLeavesRoomForItsHistoryTable() {
		assertThat(TableName.of("a".repeat(40)).historyTable()).hasSizeLessThanOrEqualTo(63);
	}

}
