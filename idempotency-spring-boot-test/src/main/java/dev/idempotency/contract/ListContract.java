/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords.Page;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Lists of stuck and of failed records.
 */
interface ListContract extends RecordsContract {

	private List<IdempotencyRecord> stuck(String scope) {
		return all((after) -> records().stuck(1000, after)).stream()
			.filter((record) -> record.key().scope().equals(scope))
			.toList();
	}

	private List<IdempotencyRecord> failed(String scope) {
		return all((after) -> records().failed(1000, after)).stream()
			.filter((record) -> record.key().scope().equals(scope))
			.toList();
	}

	@Test
	default void onlyAnExpiredClaimIsStuck() {
		String scope = RecordsContract.newScope();
		Stream.of(Known.values()).forEach((known) -> known.reach(this, RecordsContract.newKey(scope)));
		IdempotencyKey key = RecordsContract.newKey(scope);
		Known.EXPIRED.reach(this, key);
		Known.LIVE.reach(this, key);
		assertThat(stuck(scope)).singleElement().satisfies((record) -> assertUnchanged(record.key(), record));
	}

	@Test
	default void renewedClaimIsNotStuck() {
		String scope = RecordsContract.newScope();
		ClaimRequest owner = Known.EXPIRED.reach(this, RecordsContract.newKey(scope));
		assertThat(stuck(scope)).hasSize(1);
		one(store()).renew(new ClaimRequest(owner.key(), owner.token(), null, Requests.LEASE, Requests.RETENTION));
		assertThat(stuck(scope)).isEmpty();
	}

	@Test
	default void failureIsListedAndAReleasedClaimIsNot() {
		String scope = RecordsContract.newScope();
		Stream.of(Known.values()).forEach((known) -> known.reach(this, RecordsContract.newKey(scope)));
		assertThat(failed(scope)).singleElement().satisfies((record) -> {
			assertThat(record.failure()).isEqualTo(Requests.FAILURE);
			assertUnchanged(record.key(), record);
		});
	}

	@Test
	default void failureIsListedWithItsAttemptsUntilItsHandlerRunsAgain() {
		String scope = RecordsContract.newScope();
		IdempotencyKey key = RecordsContract.newKey(scope);
		Known.FAILED.reach(this, key);
		Known.FAILED.reach(this, key);
		assertThat(failed(scope)).singleElement().satisfies((record) -> assertThat(record.attempt()).isEqualTo(2));
		Known.LIVE.reach(this, key);
		assertThat(failed(scope)).isEmpty();
	}

	@Test
	default void listEndsAtItsLimitAndIsNotComplete() {
		String scope = RecordsContract.newScope();
		Stream.generate(() -> RecordsContract.newKey(scope)).limit(3).forEach((key) -> Known.FAILED.reach(this, key));
		Page page = records().failed(2, null);
		assertThat(page.records()).hasSize(2);
		assertThat(page.complete()).isFalse();
		assertThat(records().failed(1000, null).complete()).isTrue();
	}

	@Test
	default void pagesContainEachRecordOnceIfTheStoreCanContinue() {
		String scope = RecordsContract.newScope();
		List<IdempotencyKey> keys = Stream.generate(() -> RecordsContract.newKey(scope)).limit(5).toList();
		List<ClaimRequest> owners = keys.stream().map(Requests::request).toList();
		// All with the same times.
		store().claim(owners);
		store().settle(Endings.failed(owners, Requests.FAILURE));
		if (records().failed(2, null).next() != null) {
			assertThat(all((after) -> records().failed(2, after)).stream()
				.map(IdempotencyRecord::key)
				.filter((key) -> key.scope().equals(scope))).containsExactlyInAnyOrderElementsOf(keys);
		}
	}

	@Test
	default void positionThatIsNoEndOfAPageOfAListIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> records().stuck(10, "nowhere"));
		assertThatIllegalArgumentException().isThrownBy(() -> records().failed(10, ""));
	}

}
