/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.contract.OneKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link RedisIdempotencyStore} whose keys have foreign values.
 */
@Tag("promise-10")
class UnreadableTests {

	private static final String TOKEN = "d4735e3a-265e-46ee-a03f-59718b9b5d03";

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest request = TestDatabase.request(this.key);

	static Stream<Named<Consumer<ClaimRequest>>> calls() {
		OneKey store = one(redis.store());
		return Stream.of(Named.of("claim", store::claim), Named.of("complete", (claim) -> store.complete(claim, null)),
				Named.of("fail", (claim) -> store.fail(claim, new Failure("x", null))),
				Named.of("release", store::release), Named.of("renew", store::renew),
				Named.of("find", (claim) -> store.find(claim.key())));
	}

	@ParameterizedTest
	@MethodSource("calls")
	void valueOfAnotherRedisTypeIsUnreadable(Consumer<ClaimRequest> call) {
		redis.commands().lpush(TestRedis.bytes(this.key), new byte[] { 1 });
		assertUnreadable(() -> call.accept(this.request));
		assertThat(redis.commands().llen(TestRedis.bytes(this.key))).isOne();
	}

	@ParameterizedTest
	@MethodSource("calls")
	void foreignValueIsUnreadable(Consumer<ClaimRequest> call) {
		redis.set(this.key, "1");
		assertUnreadable(() -> call.accept(this.request));
		assertThat(redis.value(this.key)).isEqualTo("1");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "idem1", "{\"state\":\"C\"}", "idem2 C " + TOKEN + " 1 1 0 1 0 1 1 - - 0 ab-",
			"idem1 X " + TOKEN + " 1 1 0 1 0 1 1 - - 0 ab-", "idem1 C " + TOKEN + " 1 1 0 1 0 1 1 - - 0 ab",
			"idem1 C " + TOKEN + " 1 1 0 1 0 1 1 - - 0 ab?", "idem1 C " + TOKEN + " 1 1 0 1 9 1 1 - - 0 ab-",
			"idem1 C " + TOKEN + " 1 x 0 1 0 1 1 - - 0 ab-" })
	void valueOfAnotherFormatIsUnreadable(String value) {
		redis.set(this.key, value);
		assertUnreadable(() -> one(redis.store()).claim(this.request));
		assertThat(redis.value(this.key)).isEqualTo(value);
	}

	@Test
	void valueOfTheCurrentFormatIsRead() {
		redis.set(this.key, "idem1 C " + TOKEN + " 1 1 0 1 0 1 1 - - 0 ab-");
		one(redis.store()).claim(this.request);
	}

	@Test
	void otherKeysAreRenewedWhenARecordIsUnreadable() {
		ClaimRequest other = TestDatabase.request(TestDatabase.newKey());
		one(redis.store()).claim(other);
		redis.endLease(other.key());
		redis.set(this.key, "1");
		assertUnreadable(() -> redis.store().renew(List.of(this.request, other)));
		assertThat(redis.record(other.key()).claimedUntil()).isAfter(redis.record(other.key()).createdAt());
	}

	@Test
	void keysThatWereClaimedWithAnUnreadableRecordCanBeReleased() {
		ClaimRequest other = TestDatabase.request(TestDatabase.newKey());
		redis.set(this.key, "1");
		assertUnreadable(() -> redis.store().claim(List.of(this.request, other)));
		assertThat(one(redis.store()).release(other)).isEqualTo(Settlement.SETTLED);
	}

	private void assertUnreadable(Runnable call) {
		assertThatExceptionOfType(IdempotencyRecordUnreadableException.class).isThrownBy(call::run)
			.withMessage("The value of the Redis key '" + TestRedis.name(this.key)
					+ "' is not an idempotency record of this version. Check the value, and delete the key if no other "
					+ "application uses it");
	}

}
