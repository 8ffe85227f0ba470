/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.Observers;
import dev.idempotency.template.StoreObserver;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link InMemoryIdempotencyStore} beyond the contract.
 */
class InMemoryIdempotencyStoreTests {

	private static final Duration LEASE = Duration.ofMinutes(1);

	private static final Duration RETENTION = Duration.ofHours(1);

	private Instant now = Instant.parse("2026-01-01T00:00:00Z");

	private final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore(() -> this.now);

	private static ClaimRequest request(String key, Duration lease) {
		return new ClaimRequest(IdempotencyKey.of("scope", key), UUID.randomUUID(), null, lease, RETENTION);
	}

	private ClaimRequest completed(String key, byte... result) {
		ClaimRequest owner = request(key, LEASE);
		one(this.store).claim(owner);
		one(this.store).complete(owner, result);
		return owner;
	}

	@Test
	@Tag("promise-7")
	void claimIsTakenOverAtTheInstantAtWhichItsLeaseEnds() {
		one(this.store).claim(request("key", LEASE));
		this.now = this.now.plus(LEASE).minusNanos(1);
		assertThat(one(this.store).claim(request("key", LEASE))).isEqualTo(new Claim.InProgress(Duration.ofNanos(1)));
		this.now = this.now.plusNanos(1);
		assertThat(one(this.store).claim(request("key", LEASE))).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	@Tag("promise-3")
	void completedKeyIsRememberedUntilTheInstantAtWhichItsRetentionEnds() {
		completed("key");
		this.now = this.now.plus(RETENTION).minusNanos(1);
		assertThat(one(this.store).claim(request("key", LEASE))).isInstanceOf(Claim.Completed.class);
		this.now = this.now.plusNanos(1);
		assertThat(one(this.store).claim(request("key", LEASE))).isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	@Tag("promise-8")
	void resultIsACopy() {
		byte[] result = { 1 };
		completed("key", result);
		result[0] = 2;
		claimedResult()[0] = 3;
		assertThat(claimedResult()).containsExactly(1);
	}

	private byte[] claimedResult() {
		return ((Claim.Completed) one(this.store).claim(request("key", LEASE))).result();
	}

	@Test
	void cleanupDeletesExpiredKeysInBatches() {
		List<String> events = new ArrayList<>();
		CleanupJob job = new CleanupJob(this.store,
				new CleanupJob.Settings(Duration.ofHours(1), Duration.ofMinutes(1), 2, Duration.ZERO),
				new Observers(List.of(), List.of(new StoreObserver() {

					@Override
					public void cleanedUp(String table, int deleted) {
						events.add(table + " " + deleted);
					}

				})));
		List.of("a", "b", "c").forEach((key) -> completed(key));
		this.now = this.now.plus(RETENTION);
		ClaimRequest kept = completed("d");
		assertThat(this.store.deleteExpired(0, Duration.ZERO)).isZero();
		assertThat(job.runOnce()).isEqualTo(3);
		assertThat(events).containsExactly("memory 3");
		assertThat(one(this.store).find(kept.key())).isPresent();
		assertThat(one(this.store).find(IdempotencyKey.of("scope", "a"))).isEmpty();
	}

	@Test
	void backlogAgeIsThatOfTheOldestExpiredKey() {
		assertThat(this.store.backlogAge()).isZero();
		completed("a");
		assertThat(this.store.backlogAge()).isZero();
		this.now = this.now.plusSeconds(5);
		completed("b");
		this.now = this.now.plus(RETENTION);
		assertThat(this.store.backlogAge()).isEqualTo(Duration.ofSeconds(5));
	}

	@Test
	@Tag("promise-2")
	void cleanupKeepsLiveClaimsAfterTheirRetention() {
		one(this.store).claim(request("key", RETENTION.plus(LEASE)));
		this.now = this.now.plus(RETENTION);
		assertThat(this.store.deleteExpired(10, Duration.ZERO)).isZero();
		this.now = this.now.plus(LEASE);
		assertThat(this.store.deleteExpired(10, Duration.ZERO)).isOne();
	}

	@Test
	@Tag("promise-4")
	void cleanupKeepsFailedKeysWithTheirFenceUntilTheirRetentionEnds() {
		ClaimRequest owner = request("key", LEASE);
		one(this.store).claim(owner);
		one(this.store).release(owner);
		this.now = this.now.plus(RETENTION).minusNanos(1);
		assertThat(this.store.deleteExpired(10, Duration.ZERO)).isZero();
		assertThat(one(this.store).claim(request("key", LEASE))).isEqualTo(new Claim.Acquired(2, 1));
	}

}
