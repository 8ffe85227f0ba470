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
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;

/**
 * Threads that claim a few keys and settle or renew them at random: at once, or later
 * when another thread may own them.
 */
final class Competition {

	private static final int KEYS = 12;

	private static final int MAX_PAUSE = 200_000;

	private static final int ENOUGH = 100_000;

	private static final long PATIENCE = Duration.ofSeconds(20).toNanos();

	private final AtomicReferenceArray<IdempotencyKey> keys = new AtomicReferenceArray<>(KEYS);

	private final Queue<Zombie> zombies = new PriorityBlockingQueue<>(KEYS, Comparator.comparingLong(Zombie::wakesUp));

	private final History history = new History();

	private final IdempotencyStore store;

	private final Duration lease;

	private final long seed;

	Competition(IdempotencyStore store, Duration lease, long seed) {
		this.store = store;
		this.lease = lease;
		this.seed = seed;
		for (int i = 0; i < KEYS; i++) {
			this.keys.set(i, Requests.newKey());
		}
	}

	History run(int threads, Duration time) throws InterruptedException {
		long end = System.nanoTime() + time.toNanos();
		ExecutorService executor = Executors.newFixedThreadPool(threads);
		List<Future<?>> workers = new ArrayList<>();
		for (int i = 0; i < threads; i++) {
			Random random = new Random(this.seed + i);
			workers.add(executor.submit(() -> work(random, end)));
		}
		try {
			for (Future<?> worker : workers) {
				worker.get();
			}
		}
		catch (ExecutionException ex) {
			throw new AssertionError(this + " ended with an error", ex.getCause());
		}
		finally {
			executor.shutdownNow();
		}
		this.history.completed().forEach((key, owner) -> claim(key));
		return this.history;
	}

	private void work(Random random, long end) {
		while (!isEnough(end)) {
			int index = random.nextInt(KEYS);
			IdempotencyKey key = this.keys.get(index);
			Claim claim = claim(key, random);
			if (claim instanceof Claim.Completed && random.nextInt(20) == 0) {
				this.keys.compareAndSet(index, key, Requests.newKey());
			}
			wakeZombie(random);
			LockSupport.parkNanos(random.nextInt(MAX_PAUSE));
		}
	}

	// On a busy machine, a slow store may need longer for each kind of competition.
	private boolean isEnough(long end) {
		long now = System.nanoTime();
		return this.history.size() >= ENOUGH || (now > end && (this.history.isComplete() || now > end + PATIENCE));
	}

	private Claim claim(IdempotencyKey key, Random random) {
		ClaimRequest request = Requests.request(key, this.lease);
		Owned completed = this.history.completed().get(key);
		long asked = System.nanoTime();
		Claim claim = Crowd.answer(() -> one(this.store).claim(request));
		long answered = System.nanoTime();
		this.history.answered(key, claim, completed);
		if (claim instanceof Claim.Acquired acquired) {
			Owned owner = new Owned(request, acquired.fence(), asked, answered);
			this.history.acquired(owner);
			if (random.nextBoolean()) {
				mutate(owner, random);
			}
			if (random.nextBoolean()) {
				this.zombies.add(new Zombie(owner, wakesUp(owner, random)));
			}
		}
		return claim;
	}

	private void claim(IdempotencyKey key) {
		Owned completed = this.history.completed().get(key);
		this.history.answered(key, one(this.store).claim(Requests.request(key)), completed);
	}

	// Half of them at the instant at which others may take over.
	private long wakesUp(Owned owner, Random random) {
		double spread = random.nextBoolean() ? TimeUnit.MILLISECONDS.toNanos(1) : this.lease.toNanos();
		return owner.leaseEnd() + (long) (random.nextGaussian() * spread);
	}

	private void wakeZombie(Random random) {
		Zombie zombie = this.zombies.poll();
		if (zombie != null && zombie.wakesUp() < System.nanoTime()) {
			mutate(zombie.owner(), random);
		}
		else if (zombie != null) {
			this.zombies.add(zombie);
		}
	}

	private void mutate(Owned owner, Random random) {
		int dice = random.nextInt(20);
		Mutation mutation = (dice == 0) ? Mutation.COMPLETE
				: (dice < 8) ? Mutation.RENEW : (dice < 14) ? Mutation.FAIL : Mutation.RELEASE;
		long asked = System.nanoTime();
		owner.asks(mutation, asked);
		Settlement settlement = Crowd.answer(() -> (mutation == Mutation.COMPLETE)
				? one(this.store).complete(owner.request(), ByteBuffer.allocate(4).putInt(owner.fence()).array())
				: mutation.apply(this.store, owner.request()));
		this.history.settled(owner, mutation, settlement, asked, System.nanoTime());
	}

	@Override
	public String toString() {
		return "Competition with seed " + this.seed;
	}

	private record Zombie(Owned owner, long wakesUp) {

	}

}
