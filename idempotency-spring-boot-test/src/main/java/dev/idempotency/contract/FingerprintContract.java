/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * The comparison of content. It is compared with that of a completed key or a live claim.
 * A claimable key accepts the content of its next claim.
 */
interface FingerprintContract extends StoreContract {

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void otherContentIsAMismatch(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(claim(key, "b")).isEqualTo(new Claim.Mismatch());
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void mismatchChangesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		IdempotencyRecord before = record(key);
		claim(key, "b");
		assertUnchanged(key, before);
		assertThat(claim(key, "b")).isEqualTo(new Claim.Mismatch());
	}

	@ParameterizedTest
	@EnumSource
	default void sameContentIsNoMismatch(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(claim(key, "a")).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource
	default void requestWithoutFingerprintComparesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(claim(key, null)).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource
	default void recordWithoutFingerprintComparesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, null);
		assertThat(claim(key, "b")).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void claimableKeyAcceptsOtherContent(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(claim(key, "b")).isInstanceOf(Claim.Acquired.class);
		assertThat(claim(key, "a")).isEqualTo(new Claim.Mismatch());
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void fingerprintsOfDifferentVersionsAreNotCompared(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(one(store()).claim(new ClaimRequest(key, UUID.randomUUID(), Fingerprint.of(7, new byte[] { 1 }),
				Requests.LEASE, Requests.RETENTION)))
			.isInstanceOf((known == Known.LIVE) ? Claim.InProgress.class : Claim.Completed.class);
	}

	@Test
	@Tag("promise-9")
	default void contentThatIsReportedDiffersFromAFingerprintThatAProducerHasSent() {
		byte[] sent = Fingerprint.ofMessage(new byte[] { 1 });
		byte[] reported = Fingerprint.ofReported(1, new byte[] { 1 });
		assertThat(claimAfter(sent, reported)).isEqualTo(new Claim.Mismatch());
		assertThat(claimAfter(reported, sent)).isInstanceOf(Claim.Completed.class);
	}

	private Claim claimAfter(byte[] completed, byte[] fingerprint) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = new ClaimRequest(key, UUID.randomUUID(), completed, Requests.LEASE, Requests.RETENTION);
		one(store()).claim(owner);
		one(store()).complete(owner, null);
		return one(store())
			.claim(new ClaimRequest(key, UUID.randomUUID(), fingerprint, Requests.LEASE, Requests.RETENTION));
	}

	@Test
	default void completedKeyMayStandForOtherContentAfterItsRetention() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.request(key, "a", lease(), retention());
		one(store()).claim(owner);
		one(store()).complete(owner, null);
		letPass(retention());
		assertThat(claim(key, "b")).isInstanceOf(Claim.Acquired.class);
	}

	private Claim claim(IdempotencyKey key, @Nullable String content) {
		return one(store()).claim(Requests.request(key, content, Requests.LEASE, Requests.RETENTION));
	}

}
