/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.Mode;
import dev.idempotency.StalePolicy;
import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationSpec.Defaults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link OperationSpec}.
 */
class OperationSpecTests {

	@AutoClose
	private final IdempotencyTemplate template = template(new JacksonSerialization(JsonMapper.builder().build()));

	private static IdempotencyTemplate template(Serialization serialization) {
		Defaults defaults = new Defaults(Mode.AUTO, Duration.ofSeconds(3), Duration.ofDays(3), Duration.ofDays(30),
				() -> serialization);
		return new IdempotencyTemplate(new InMemoryIdempotencyStore(),
				new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, Observers.none(),
						List.of(), Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, defaults));
	}

	private OperationSpec operation() {
		return this.template.operation("transfers", "1");
	}

	@Test
	void valuesThatAreNotSetAreTheDefaultsOfTheTemplate() {
		assertThat(operation().build()).isEqualTo(new IdempotentOperation(IdempotencyKey.of("transfers", "1"),
				"transfers", "transfers", Mode.LEASED, null, Duration.ofSeconds(3), Duration.ofDays(3), null, null));
		assertThat(operation().version(7).build().retention()).isEqualTo(Duration.ofDays(30));
	}

	@Test
	void valuesThatAreSetReplaceTheDefaults() {
		assertThat(operation().scope("transfers/alice")
			.origin("POST /transfers")
			.mode(Mode.TRANSACTIONAL)
			.lease(Duration.ofSeconds(1))
			.retention(Duration.ofDays(1))
			.version(7, StalePolicy.REJECT)
			.build())
			.isEqualTo(new IdempotentOperation(IdempotencyKey.of("transfers/alice", "1"), "transfers",
					"POST /transfers", Mode.TRANSACTIONAL, null, Duration.ofSeconds(1), Duration.ofDays(1), null,
					new OperationVersion(7, StalePolicy.REJECT)));
	}

	@ParameterizedTest
	@CsvSource({ ", is missing", "' ', is blank", "'a\tb', has a control character" })
	@Tag("promise-10")
	void unusableKeyIsRejected(String key, String problem) {
		assertThatExceptionOfType(IdempotencyKeyMissingException.class)
			.isThrownBy(() -> this.template.operation("transfers", key))
			.withMessage("The idempotency key of the operation 'transfers' " + problem
					+ ". Choose a key that identifies the operation.");
	}

	@Test
	@Tag("promise-9")
	void keyWithOtherContentIsRejected() {
		operation().content("a").execute(() -> {
		});
		assertThat(operation().content("a").execute(() -> {
		}).duplicate()).isTrue();
		assertThatExceptionOfType(IdempotencyKeyReusedException.class)
			.isThrownBy(() -> operation().content("b").execute(() -> {
			}));
	}

	@Test
	@Tag("promise-9")
	void contentThatCannotBeSerializedIsRejectedWithItsCause() {
		assertThatExceptionOfType(IdempotencyFingerprintUnusableException.class)
			.isThrownBy(() -> operation().content(new Object()))
			.withMessageStartingWith(
					"The content of the operation 'transfers', a java.lang.Object, cannot be serialized.")
			.withCauseInstanceOf(RuntimeException.class);
	}

	@Test
	void asynchronousOperationIsLeasedAndReplaysItsResult() {
		for (boolean duplicate : new boolean[] { false, true }) {
			IdempotentResult<Integer> result = operation()
				.executeAsync(Integer.class, () -> CompletableFuture.completedFuture(5))
				.join();
			assertThat(result).isEqualTo(new IdempotentResult<>(5, duplicate));
		}
	}

	@Test
	void resultWithoutASerializationIsRefusedBeforeTheHandlerRuns() {
		try (IdempotencyTemplate without = template(null)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> without.operation("transfers", "1").execute(Integer.class, () -> {
					throw new AssertionError("The handler runs");
				}))
				.withMessageStartingWith(
						"The operation 'transfers' has content or a result, but its template has no Serialization");
			assertThat(without.operation("transfers", "1").execute(() -> {
			}).duplicate()).isFalse();
		}
	}

}
