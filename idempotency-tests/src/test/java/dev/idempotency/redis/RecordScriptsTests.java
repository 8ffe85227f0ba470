/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the names of the keys in {@link RecordScripts}.
 */
class RecordScriptsTests {

	@Test
	void nameConsistsOfThePrefixAndTheIdAsHashTag() {
		IdempotencyKey key = IdempotencyKey.of("scope", "key");
		assertThat(new RecordScripts("shop:idempotency:").name(key))
			.isEqualTo("shop:idempotency:{" + key.id().toString().replace("-", "") + "}");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "a b", "a{b", "a}b", "\u00e9", "a\n", "\t" })
	@Tag("promise-12")
	void invalidPrefixIsRefused(String prefix) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> new RecordScripts(prefix))
			.withMessage("'idempotency.redis.key-prefix' is '" + prefix + "'.")
			.satisfies((ex) -> assertThat(ex.action()).startsWith("Set 'idempotency.redis.key-prefix' to"));
	}

	@Test
	void prefixHas200CharactersAtMost() {
		assertThat(new RecordScripts("x".repeat(200)).prefix()).hasSize(200);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new RecordScripts("x".repeat(201)));
	}

}
