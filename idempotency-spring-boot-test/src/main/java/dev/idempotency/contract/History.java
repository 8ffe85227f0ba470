/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The history of keys, with the clock of this JVM. The store acts at an unknown instant
 * between the start and the end of a call. A violation is reported only if it holds for
 * every such instant.
 */
final class History {

	private final Queue<Owned> owners = new ConcurrentLinkedQueue<>();

	private final AtomicInteger size = new AtomicInteger();

	private final Queue<Settled> settlements = new ConcurrentLinkedQueue<>();

	private final Map<IdempotencyKey, Owned> completed = new ConcurrentHashMap<>();

	private final Queue<String> violations = new ConcurrentLinkedQueue<>();

	void acquired(Owned owner) {
		this.owners.add(owner);
		this.size.incrementAndGet();
	}

	// The parameter 'completed' is the owner that had completed the key before the claim.
	void answered(IdempotencyKey key, Claim claim, Owned completed) {
		if (completed != null && !(claim instanceof Claim.Completed)) {
			this.violations.add(claim + " after the completion by " + completed);
		}
		if (completed != null && claim instanceof Claim.Completed answer
				&& !Arrays.equals(answer.result(), ByteBuffer.allocate(4).putInt(completed.fence()).array())) {
			this.violations.add("Not the result of " + completed);
		}
	}

	void settled(Owned owner, Mutation mutation, Settlement settlement, long asked, long told) {
		this.settlements.add(new Settled(owner, mutation, settlement, asked, told, owner.leaseEnd(), owner.gaveUp()));
		if (settlement == Settlement.SETTLED && mutation == Mutation.RENEW) {
			owner.renewed(asked);
		}
		if (settlement == Settlement.SETTLED && mutation == Mutation.COMPLETE) {
			Owned other = this.completed.putIfAbsent(owner.request().key(), owner);
			if (other != null && other != owner) {
				this.violations.add("Completed by " + other + " and by " + owner);
			}
		}
	}

	Map<IdempotencyKey, Owned> completed() {
		return this.completed;
	}

	int size() {
		return this.size.get();
	}

	boolean isComplete() {
		return completions() > 0 && abandoned() > 0 && zombies() > 0;
	}

	int completions() {
		return this.completed.size();
	}

	long abandoned() {
		return this.owners.stream().filter((owner) -> owner.gaveUp() == Long.MAX_VALUE).count();
	}

	long zombies() {
		return this.settlements.stream().filter((settled) -> settled.settlement == Settlement.LOST).count();
	}

	Collection<String> violations(Duration precision) {
		List<String> found = new ArrayList<>(this.violations);
		Map<Owned, List<Settled>> settled = this.settlements.stream().collect(Collectors.groupingBy(Settled::owner));
		this.owners.stream()
			.collect(Collectors.groupingBy((owner) -> owner.request().key()))
			.values()
			.forEach((ofKey) -> check(ofKey, settled, precision, found));
		return found.subList(0, Math.min(found.size(), 20));
	}

	private static void check(List<Owned> owners, Map<Owned, List<Settled>> settled, Duration precision,
			List<String> found) {
		owners.sort(Comparator.comparingInt(Owned::fence));
		long takenOver = Long.MAX_VALUE;
		for (int i = owners.size() - 1; i >= 0; i--) {
			Owned owner = owners.get(i);
			Owned next = (i + 1 < owners.size()) ? owners.get(i + 1) : null;
			if (next != null && next.fence() == owner.fence()) {
				found.add("Two claims have the same fence: " + owner);
			}
			if (takenOver < owner.asked()) {
				found.add("Fences do not grow with time: " + owner);
			}
			if (takenOver < owner.certainlyAliveUntil(precision)) {
				found.add("Taken over while alive: " + owner);
			}
			for (Settled call : settled.getOrDefault(owner, List.of())) {
				call.check(takenOver, precision, found);
			}
			takenOver = Math.min(takenOver, owner.answered());
		}
	}

	private record Settled(Owned owner, Mutation mutation, Settlement settlement, long asked, long told, long leaseEnd,
			long gaveUp) {

		void check(long takenOver, Duration precision, List<String> found) {
			if (this.settlement == Settlement.SETTLED && takenOver < this.asked) {
				found.add(this.mutation + " was settled after another owner had taken over from " + this.owner);
			}
			if (this.settlement == Settlement.SETTLED && this.mutation == Mutation.RENEW && this.gaveUp < this.asked) {
				found.add("Renewed after its end: " + this.owner);
			}
			if (this.settlement == Settlement.LOST && this.gaveUp >= this.asked
					&& this.told < this.leaseEnd - precision.toNanos()) {
				found.add(this.mutation + " was lost by an owner whose claim was alive: " + this.owner);
			}
		}

	}

}
