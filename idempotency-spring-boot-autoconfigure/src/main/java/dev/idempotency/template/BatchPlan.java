/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.store.Claim;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;

/**
 * The claims of the items of a batch, the decisions about them, and their results. The
 * first item with a key represents its copies. For a key with versions, the first item
 * with the highest version represents the others, which are stale when it is done. If it
 * fails or is not run, the highest version before it does.
 */
final class BatchPlan {

	private final List<Item> items;

	private final ResultCodec<?> codec;

	private final StoredResults stored;

	private int end;

	private boolean awaitsClaims;

	// The item that has failed or can never be handled, if it is known.
	private @Nullable Item failed;

	private @Nullable Throwable failure;

	// That of a single operation, which has no copies.
	BatchPlan(IdempotentOperation operation, ResultCodec<?> codec, StoredResults stored) {
		this.codec = codec;
		this.stored = stored;
		this.end = 1;
		this.items = Collections.singletonList(new Item(0, operation, 0, null));
	}

	BatchPlan(List<BatchItem> items, ResultCodec<?> codec, StoredResults stored) {
		this.codec = codec;
		this.stored = stored;
		this.end = items.size();
		this.items = new ArrayList<>(items.size());
		Map<IdempotencyKey, Item> first = new HashMap<>();
		for (BatchItem item : items) {
			IdempotentOperation operation = item.operation();
			Item earlier = (operation != null) ? first.get(operation.key()) : null;
			Item planned = new Item(this.items.size(), operation, item.lane(),
					(earlier != null && !earlier.isVersioned()) ? earlier : null);
			// Otherwise two items would claim one key.
			Assert.isTrue(earlier == null || earlier.isVersioned() == planned.isVersioned(),
					"The operations of a key must all have a version, or none");
			if (operation != null && earlier == null) {
				first.put(operation.key(), planned);
			}
			this.items.add(planned);
		}
		representVersions();
	}

	private void representVersions() {
		if (this.items.size() == 1) {
			return;
		}
		Map<IdempotencyKey, Item> highest = new HashMap<>();
		// A version behind the end has completed if it was declined in this delivery.
		List<Item> versions = this.items.stream()
			.filter((item) -> item.isVersioned()
					&& (item.index() < this.end || item.claim() instanceof Claim.Completed))
			.toList();
		versions.forEach((item) -> highest.merge(item.operation().key(), item,
				(known, other) -> (other.version() > known.version()) ? other : known));
		versions.forEach((item) -> item.representedBy(Objects.requireNonNull(highest.get(item.operation().key()))));
	}

	ResultCodec<?> codec() {
		return this.codec;
	}

	List<Item> items() {
		return this.items;
	}

	Item first() {
		return this.items.get(0);
	}

	private List<Item> some(Predicate<Item> condition) {
		return StoreCalls.some(this.items, condition);
	}

	static void setClaims(List<Item> items, List<Claim> claims) {
		for (int i = 0; i < items.size(); i++) {
			items.get(i).setClaim(claims.get(i));
		}
	}

	List<Item> unanswered() {
		return some(Item::isUnanswered);
	}

	void blockRest(OperationBlockedException reason) {
		this.items.stream().filter(Item::isUnanswered).forEach((item) -> item.setClaimFailure(reason));
		decide();
		if (this.items.stream().noneMatch(Item::isBlocked)) {
			// None of them has a key, but they need a transaction.
			due().forEach((item) -> item.block(reason));
		}
	}

	// Return whether an earlier item of the same lane has no claim, because
	// another owner has its key or its claim failed. The later item need not be
	// claimed then.
	boolean isLaneBlocked(Item item) {
		return this.items.subList(0, item.index())
			.stream()
			.anyMatch((earlier) -> earlier.isClaimBlocked() && earlier.lane().equals(item.lane()));
	}

	// Claim an item alone, or block it. Returns whether no earlier item of its lane is
	// blocked; otherwise the item is not claimed.
	boolean claimOne(Item item, Supplier<Claim> claim) {
		if (isLaneBlocked(item)) {
			return false;
		}
		try {
			item.setClaim(claim.get());
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			item.setClaimFailure(ex);
		}
		return true;
	}

	// Without an item, the batch has failed as a whole.
	void fail(@Nullable Item item, Throwable error) {
		this.failed = item;
		this.failure = error;
		this.end = (item != null) ? item.index() : 0;
		representVersions();
	}

	// Compare a copy with the first item of its key only when that has its claim.
	void awaitClaims(boolean await) {
		this.awaitsClaims = await;
	}

	// Decide about each item when the claims of all keys have an outcome. A repeated
	// decision never runs an item that an earlier decision has excluded.
	void decide() {
		int before;
		do {
			before = this.end;
			decideOnce();
		}
		while (this.end < before || blockSuperseded());
	}

	// A lower version must not be acknowledged while the higher one is not done. Returns
	// whether an item is blocked that was not.
	private boolean blockSuperseded() {
		List<Item> superseded = some(Item::isSupersededByBlocked);
		superseded.forEach(Item::blockWithOriginal);
		return !superseded.isEmpty();
	}

	private void decideOnce() {
		Map<Object, OperationBlockedException> blockedLanes = (this.items.size() > 1) ? new HashMap<>() : Map.of();
		for (Item item : this.items) {
			OperationBlockedException before = blockedLanes.get(item.lane());
			if (item.index() >= this.end) {
				item.leaveOut(null);
			}
			else if (before != null) {
				item.leaveOut(before);
			}
			else {
				decide(item);
				if (item.isBlocked() && this.items.size() > 1) {
					blockedLanes.put(item.lane(), item.reason());
				}
			}
		}
	}

	private void decide(Item item) {
		try {
			Claim known = item.decide(this.awaitsClaims);
			if (known != null && item.result() == null) {
				item.setResult(this.stored.replay(item.operation(), known, this.codec));
			}
		}
		catch (OperationBlockedException ex) {
			item.block(ex);
		}
		catch (OperationRejectedException ex) {
			item.leaveOut(null);
			fail(item, ex);
		}
	}

	// Return the items that the handler processes.
	List<Item> due() {
		return some(Item::isDue);
	}

	List<Item> stillDue() {
		return some((item) -> item.isDue() && item.result() == null);
	}

	@Nullable Throwable failure() {
		return this.failure;
	}

	@Nullable Item failed() {
		return this.failed;
	}

	// An item is blocked, or can never be handled.
	boolean isIncomplete() {
		return this.failure != null || this.items.stream().anyMatch(Item::isBlocked);
	}

	// Return the items that are claimed but do not run.
	List<Item> surplus() {
		return some((item) -> item.isClaimed() && !item.isDue());
	}

	boolean isDoneInLane(Item item) {
		return this.items.subList(0, item.index() + 1)
			.stream()
			.filter((earlier) -> earlier.lane().equals(item.lane()))
			.allMatch((earlier) -> earlier.isRepresented() || earlier.result() != null);
	}

	// Remove the claims of a transaction that was rolled back.
	void unclaim() {
		this.items.forEach(Item::unclaim);
	}

	// Give the items that others represent their results.
	void end() {
		if (this.failed != null && this.failed.isVersioned() && this.failed.isOriginalBlocked()) {
			// It was stale only if the higher version had completed.
			this.failed.blockWithOriginal();
			this.failed = null;
			this.failure = null;
		}
		if (this.items.size() > 1) {
			this.items.forEach(Item::endAsOriginal);
		}
	}

	@SuppressWarnings("unchecked")
	<T> BatchResult<T> result() {
		List<@Nullable IdempotentResult<T>> results = new ArrayList<>(this.items.size());
		SortedMap<Integer, OperationBlockedException> blocked = new TreeMap<>();
		for (Item item : this.items) {
			IdempotentResult<Object> result = item.result();
			results.add((result != null && result.result() instanceof Declined declined)
					? new IdempotentResult<>((T) declined.body(), result.duplicate(), declined.reason())
					: (IdempotentResult<T>) result);
			OperationBlockedException reason = item.blockedBy();
			if (reason != null) {
				blocked.put(item.index(), reason);
			}
		}
		return new BatchResult<>(Collections.unmodifiableList(results), blocked,
				(this.failed != null) ? this.failed.index() : -1, this.failure);
	}

}
