/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * The eviction of a selection of records.
 */
interface BulkEvictionContract extends RecordsContract {

	private static Selection scope(String scope) {
		return new Selection(scope, "", null, null);
	}

	private List<IdempotencyKey> evictable(Selection selection, boolean force) {
		return all((after) -> records().evictable(selection, force, 1000, after)).stream()
			.map(IdempotencyRecord::key)
			.toList();
	}

	private IdempotencyKey completed(String scope, String value) {
		return Known.COMPLETED.reach(this, IdempotencyKey.of(scope, value)).key();
	}

	@Test
	default void selectionHasTheRecordsOfItsScopeThatBeginWithThePrefix() {
		String scope = RecordsContract.newScope();
		IdempotencyKey first = completed(scope, "order/1");
		IdempotencyKey second = completed(scope, "order/2 ü%_");
		completed(scope, "refund/1");
		completed(scope, "Order/3");
		completed(RecordsContract.newScope(), "order/1");
		assertThat(evictable(new Selection(scope, "order/", null, null), false)).containsExactlyInAnyOrder(first,
				second);
		assertThat(evictable(new Selection(scope, "order/2 ü%_", null, null), false)).containsExactly(second);
		assertThat(evictable(new Selection(scope, "%", null, null), false)).isEmpty();
		assertThat(evictable(scope(scope), false)).hasSize(4);
	}

	@Test
	default void selectionHasTheRecordsCreatedBetweenItsTimes() {
		String scope = RecordsContract.newScope();
		IdempotencyKey key = completed(scope, "a");
		Instant created = record(key).createdAt();
		Instant later = created.plus(precision()).plusMillis(1);
		Instant earlier = created.minus(precision()).minusMillis(1);
		assertThat(between(scope, earlier, later)).containsExactly(key);
		assertThat(between(scope, earlier, null)).containsExactly(key);
		assertThat(between(scope, null, later)).containsExactly(key);
		assertThat(between(scope, Instant.MIN, Instant.MAX)).containsExactly(key);
		assertThat(between(scope, later, null)).isEmpty();
		assertThat(between(scope, null, earlier)).isEmpty();
	}

	private List<IdempotencyKey> between(String scope, @Nullable Instant from, @Nullable Instant before) {
		return evictable(new Selection(scope, "", from, before), false);
	}

	@Test
	@Tag("promise-2")
	default void liveClaimIsSelectedAndDeletedByForceOnly() {
		String scope = RecordsContract.newScope();
		List<IdempotencyKey> keys = Stream.of(Known.values())
			.map((known) -> known.reach(this, RecordsContract.newKey(scope)).key())
			.toList();
		ClaimRequest owner = Known.LIVE.reach(this, RecordsContract.newKey(scope));
		List<IdempotencyKey> free = evictable(scope(scope), false);
		assertThat(free).isSubsetOf(keys).hasSize(keys.size() - 1);
		assertThat(evictable(scope(scope), true)).hasSize(keys.size() + 1);
		assertThat(records().evictAll(List.of(owner.key()), false)).isZero();
		assertThat(one(store()).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(records().evictAll(List.of(owner.key()), true)).isOne();
		assertThat(one(store()).complete(owner, null)).isEqualTo(Settlement.FORGOTTEN);
	}

	@Test
	@Tag("promise-4")
	default void evictedKeysAreForgottenAndTheirNumberIsReturned() {
		String scope = RecordsContract.newScope();
		List<IdempotencyKey> keys = Stream.of("a", "b", "c").map((value) -> completed(scope, value)).toList();
		IdempotencyKey absent = RecordsContract.newKey(scope);
		assertThat(records().evictAll(List.of(keys.get(0), absent, keys.get(2)), false)).isEqualTo(2);
		assertThat(evictable(scope(scope), true)).containsExactly(keys.get(1));
		assertThat(Requests.acquire(store(), Requests.request(keys.get(0)))).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(store()).claim(Requests.request(keys.get(1)))).isInstanceOf(Claim.Completed.class);
		assertThat(records().evictAll(List.of(), false)).isZero();
	}

	@Test
	default void listContinuesAfterThePageHasBeenDeleted() {
		String scope = RecordsContract.newScope();
		List<IdempotencyKey> keys = Stream.generate(() -> RecordsContract.newKey(scope)).limit(7).toList();
		List<ClaimRequest> owners = keys.stream().map(Requests::request).toList();
		// All with the same times.
		store().claim(owners);
		store().settle(Endings.failed(owners, Requests.FAILURE));
		int deleted = 0;
		Page page = records().evictable(scope(scope), false, 3, null);
		while (true) {
			deleted += records().evictAll(page.records().stream().map(IdempotencyRecord::key).toList(), false);
			if (page.complete()) {
				break;
			}
			page = records().evictable(scope(scope), false, 3, page.next());
		}
		assertThat(deleted).isEqualTo(7);
		assertThat(evictable(scope(scope), true)).isEmpty();
	}

	@Test
	default void positionThatIsNoEndOfAPageIsRefused() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> records().evictable(scope("orders"), false, 10, "nowhere"));
	}

	@Test
	default void impossibleSelectionIsRefused() {
		Instant now = Instant.now();
		assertThatIllegalArgumentException().isThrownBy(() -> scope(" ")).withMessageContaining("'scope'");
		assertThatIllegalArgumentException().isThrownBy(() -> new Selection("orders", "", now, now))
			.withMessageContaining("'createdFrom'");
	}

}
