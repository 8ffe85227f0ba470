/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link RedisIdempotencyStore}.
 */
class RedisIdempotencyStoreTests {

	private static final byte[] RESULT = { 0, -1, 13, 10, -128, 32 };

	private static final Failure FAILURE = new Failure("java.io.IOException", "no \"route\" à Zoë");

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	private static RedisIdempotencyStore store;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest first = TestDatabase.request(this.key);

	@BeforeAll
	static void createStore() {
		store = redis.store();
	}

	private Claim claimAgain() {
		return one(store).claim(TestDatabase.request(this.key));
	}

	@Test
	void absentKeyIsAcquired() {
		assertThat(one(store).claim(this.first)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(redis.record(this.key))
			.extracting(IdempotencyRecord::state, IdempotencyRecord::fence, IdempotencyRecord::attempt,
					IdempotencyRecord::failure)
			.containsExactly(State.IN_PROGRESS, 1, 1, null);
	}

	@Test
	void recordHasItsTimes() {
		one(store).claim(this.first);
		IdempotencyRecord record = redis.record(this.key);
		assertThat(record.createdAt()).isCloseTo(Instant.now(), within(Duration.ofSeconds(5)));
		assertThat(record.claimedUntil()).isEqualTo(record.createdAt().plus(TestDatabase.LEASE));
		assertThat(record.expiresAt()).isCloseTo(record.createdAt().plus(TestDatabase.RETENTION),
				within(Duration.ofSeconds(5)));
	}

	@Test
	@Tag("promise-2")
	void liveClaimIsInProgressWithTheRestOfItsLease() {
		one(store).claim(this.first);
		assertThat(claimAgain()).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(Duration.ofSeconds(50), TestDatabase.LEASE));
	}

	@Test
	@Tag("promise-7")
	void expiredClaimIsTakenOver() {
		one(store).claim(TestDatabase.request(this.key, Duration.ofSeconds(2)));
		assertThat(claimAgain()).isInstanceOf(Claim.InProgress.class);
		await().atMost(Duration.ofSeconds(15))
			.pollInterval(Duration.ofMillis(10))
			.until(this::claimAgain, new Claim.Acquired(2, 2)::equals);
	}

	@Test
	void repeatedClaimIsAcquiredAgainWithANewLease() {
		one(store).claim(this.first);
		redis.endLease(this.key);
		assertThat(one(store).claim(this.first)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(claimAgain()).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-3")
	void completedKeyReturnsItsBinaryResult() {
		one(store).claim(this.first);
		assertThat(one(store).complete(this.first, RESULT)).isEqualTo(Settlement.SETTLED);
		assertThat(claimAgain()).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEqualTo(RESULT));
	}

	@Test
	void emptyResultDiffersFromNoResult() {
		one(store).claim(this.first);
		one(store).complete(this.first, new byte[0]);
		assertThat(claimAgain()).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEmpty());
		ClaimRequest other = TestDatabase.request(TestDatabase.newKey());
		one(store).claim(other);
		one(store).complete(other, null);
		assertThat(one(store).claim(TestDatabase.request(other.key()))).isEqualTo(new Claim.Completed(null));
	}

	@Test
	void failedKeyHasItsFailureAndIsAcquiredAtOnce() {
		one(store).claim(this.first);
		assertThat(one(store).fail(this.first, FAILURE)).isEqualTo(Settlement.SETTLED);
		assertThat(redis.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::failure)
			.containsExactly(State.FAILED, FAILURE);
		assertThat(claimAgain()).isEqualTo(new Claim.Acquired(2, 2));
		assertThat(redis.record(this.key).failure()).isNull();
	}

	@Test
	void failureWithoutMessageIsStored() {
		one(store).claim(this.first);
		one(store).fail(this.first, new Failure("type", null));
		assertThat(redis.record(this.key).failure()).isEqualTo(new Failure("type", null));
	}

	@Test
	void releasedKeyIsAcquiredAtOnceWithoutCountingAnAttempt() {
		one(store).claim(this.first);
		assertThat(one(store).release(this.first)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store).release(this.first)).isEqualTo(Settlement.SETTLED);
		assertThat(claimAgain()).isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	@Tag("promise-9")
	void liveClaimsAndCompletedKeysCompareTheFingerprint() {
		byte[] fingerprint = { 0, 32, -1 };
		ClaimRequest owner = new ClaimRequest(this.key, UUID.randomUUID(), fingerprint, TestDatabase.LEASE,
				TestDatabase.RETENTION);
		ClaimRequest other = TestDatabase.request(this.key, "other");
		assertThat(one(store).claim(owner)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(store).claim(other)).isEqualTo(new Claim.Mismatch());
		one(store).complete(owner, RESULT);
		assertThat(one(store).claim(other)).isEqualTo(new Claim.Mismatch());
		assertThat(claimAgain()).isInstanceOf(Claim.Completed.class);
	}

	@Test
	void valueShowsScopeAndKey() {
		one(store).claim(this.first);
		assertThat(redis.value(this.key)).startsWith("idem1 P " + this.first.token() + " 1 1 ")
			.endsWith(" 0 5 " + this.key.value().length() + " - - 0 scope" + this.key.value() + "-");
	}

	@ParameterizedTest
	@ValueSource(strings = { "it's; \" \\ $1 %d", "\uD83D\uDE80 Zoë {x}", "a b\u00A0c" })
	void specialCharactersAreKept(String text) {
		IdempotencyKey odd = IdempotencyKey.of(text, text + this.key.value());
		ClaimRequest request = TestDatabase.request(odd);
		one(store).claim(request);
		one(store).complete(request, RESULT);
		assertThat(new String(redis.commands().get(TestRedis.bytes(odd)), StandardCharsets.UTF_8))
			.contains(odd.scope() + odd.value());
		assertThat(one(store).claim(TestDatabase.request(odd))).isInstanceOf(Claim.Completed.class);
	}

	@Test
	void unknownKeyIsNotFound() {
		assertThat(one(store).find(this.key)).isEmpty();
	}

	@Test
	void everySettlementOfAnUnknownKeyIsForgotten() {
		assertThat(one(store).complete(this.first, null)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(one(store).fail(this.first, FAILURE)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(one(store).release(this.first)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(one(store).renew(this.first)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(redis.value(this.key)).isNull();
	}

	@Test
	void eachRenewalOfABatchHasItsOwnOutcome() {
		ClaimRequest second = TestDatabase.request(TestDatabase.newKey());
		ClaimRequest stranger = TestDatabase.request(this.key);
		one(store).claim(this.first);
		one(store).claim(second);
		redis.commands().scriptFlush();
		assertThat(store.renew(List.of(stranger, second, this.first))).containsExactly(Settlement.LOST,
				Settlement.SETTLED, Settlement.SETTLED);
		assertThat(store.renew(List.of())).isEmpty();
	}

	@Test
	void scriptsAreSentAgainWhenTheServerHasFlushedThem() {
		redis.commands().scriptFlush();
		assertThat(one(store).claim(this.first)).isEqualTo(new Claim.Acquired(1, 1));
		redis.commands().scriptFlush();
		assertThat(one(store).complete(this.first, RESULT)).isEqualTo(Settlement.SETTLED);
		redis.commands().scriptFlush();
		assertThat(redis.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

}
