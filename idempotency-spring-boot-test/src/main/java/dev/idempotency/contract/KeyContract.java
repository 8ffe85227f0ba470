/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.UUID;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * The identity of keys with any characters.
 */
interface KeyContract extends StoreContract {

	@Test
	@Tag("promise-2")
	default void sameKeyInTwoScopesIsTwoOperations() {
		String value = UUID.randomUUID().toString();
		assertAreTwo(IdempotencyKey.of("contract", value), IdempotencyKey.of("contract-2", value));
	}

	@Test
	default void twoKeysInAScopeAreTwoOperations() {
		assertAreTwo(Requests.newKey(), Requests.newKey());
	}

	@Test
	default void keysWithTheSameConcatenationAreTwoOperations() {
		String value = UUID.randomUUID().toString();
		assertAreTwo(IdempotencyKey.of("contract", "a" + value), IdempotencyKey.of("contracta", value));
	}

	@Test
	default void keysThatDifferInCaseAreTwoOperations() {
		String value = UUID.randomUUID().toString();
		assertAreTwo(IdempotencyKey.of("contract", "a" + value), IdempotencyKey.of("contract", "A" + value));
	}

	@Test
	default void longestKeysThatDifferInTheLastCharacterAreTwoOperations() {
		String value = UUID.randomUUID() + "\uFFE5".repeat(IdempotencyKey.MAX_LENGTH - 37);
		String scope = "contract" + "\uFFE5".repeat(IdempotencyKey.MAX_LENGTH - 8);
		assertAreTwo(IdempotencyKey.of(scope, value + "1"), IdempotencyKey.of(scope, value + "2"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "it's; DROP TABLE idempotency_record --", "\"q\" \\ $1 ? :name {d}", "a%b_c*[a-z]",
			"{tag}:key", "\uD83D\uDE80 Zo\u00EB \u4E2D\u6587 \u202E" })
	default void specialCharactersOfAKeyAreStored(String text) {
		IdempotencyKey key = IdempotencyKey.of("contract" + text, text + UUID.randomUUID());
		Known.COMPLETED.reach(this, key);
		assertThat(record(key).key()).isEqualTo(key);
		assertThat(one(store()).claim(Requests.request(key))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	default void specialCharactersOfAFailureAreStored() {
		Failure failure = new Failure("com.example.Zo\u00EB$1", "\uD83D\uDE80 'no' \"route\"\n\t\\ \u202E");
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		one(store()).fail(owner, failure);
		assertThat(record(owner.key()).failure()).isEqualTo(failure);
	}

	@Test
	default void failureWithoutMessageIsStored() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		one(store()).fail(owner, new Failure("com.example.Silent", null));
		assertThat(record(owner.key()).failure()).isEqualTo(new Failure("com.example.Silent", null));
	}

	private void assertAreTwo(IdempotencyKey first, IdempotencyKey second) {
		Known.COMPLETED.reach(this, first);
		assertThat(one(store()).find(second)).isEmpty();
		assertThat(Requests.acquire(store(), Requests.request(second)).attempt()).isOne();
		assertThat(one(store()).claim(Requests.request(first))).isInstanceOf(Claim.Completed.class);
	}

}
