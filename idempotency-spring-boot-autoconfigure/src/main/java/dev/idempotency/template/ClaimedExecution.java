/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.TransactionResource;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;

/**
 * The execution of a handler whose key was claimed.
 */
class ClaimedExecution implements IdempotentExecution {

	private static final AtomicIntegerFieldUpdater<ClaimedExecution> KEYS = AtomicIntegerFieldUpdater
		.newUpdater(ClaimedExecution.class, "keys");

	// A handler sends only a few types of events.
	private static final int TYPE_BYTES = 6;

	private final IdempotencyKey key;

	private final Claim.Acquired claim;

	// Those of the handler that has called this operation.
	private final List<@Nullable IdempotentExecution> callers = Holder.current();

	private volatile int keys;

	private volatile boolean ownershipLost;

	ClaimedExecution(IdempotencyKey key, Claim.Acquired claim) {
		this.key = key;
		this.claim = claim;
	}

	Claim.Acquired claim() {
		return this.claim;
	}

	// Whether a handler that runs on this thread has claimed the key.
	static boolean isCurrent(IdempotencyKey key) {
		return isAmong(Holder.current(), key);
	}

	private static boolean isAmong(List<@Nullable IdempotentExecution> executions, IdempotencyKey key) {
		for (IdempotentExecution execution : executions) {
			if (execution instanceof ClaimedExecution claimed
					&& (claimed.key.equals(key) || isAmong(claimed.callers, key))) {
				return true;
			}
		}
		return false;
	}

	@Override
	public String key() {
		return this.key.value();
	}

	@Override
	public String nextKey() {
		return key(KEYS.getAndIncrement(this));
	}

	@Override
	public String nextTransactionalKey(String topic, String type) {
		int number = KEYS.getAndIncrement(this);
		TransactionKeys.add(this, number);
		return key(number) + "-" + Fingerprint.text((topic + '\0' + type).getBytes(StandardCharsets.UTF_8), TYPE_BYTES);
	}

	private String key(int number) {
		return this.key.id() + "-" + number;
	}

	// A later key may already belong to a message that was sent.
	private void putBack(int number) {
		KEYS.compareAndSet(this, number + 1, number);
	}

	@Override
	public String scope() {
		return this.key.scope();
	}

	@Override
	public int attempt() {
		return this.claim.attempt();
	}

	@Override
	public int fence() {
		return this.claim.fence();
	}

	@Override
	public boolean ownershipLost() {
		return this.ownershipLost;
	}

	void loseOwnership() {
		this.ownershipLost = true;
	}

	/**
	 * The keys of messages that are sent if the current transaction commits. If it does
	 * not, they are put back, the last one first, unless a later key is in use.
	 */
	private static final class TransactionKeys extends TransactionResource {

		private final List<TransactionKey> keys = new ArrayList<>();

		// The number of keys at each savepoint.
		private final Map<Object, Integer> savepoints = new IdentityHashMap<>();

		static void add(ClaimedExecution execution, int number) {
			if (TransactionSynchronizationManager.isSynchronizationActive()) {
				current(TransactionKeys.class, TransactionKeys.class, TransactionKeys::new).keys
					.add(new TransactionKey(execution, number));
			}
		}

		private TransactionKeys() {
			super(TransactionKeys.class);
		}

		// Other synchronizations may begin a transaction after completion, in which this
		// resource must no longer be bound: it is not suspended any more.
		@Override
		public int getOrder() {
			return HIGHEST_PRECEDENCE;
		}

		@Override
		public void savepoint(Object savepoint) {
			this.savepoints.put(savepoint, this.keys.size());
		}

		// An unknown savepoint is older than the first key.
		@Override
		public void savepointRollback(Object savepoint) {
			putBack(this.savepoints.getOrDefault(savepoint, 0));
		}

		// The status after a failed commit, such as a conflict, is unknown.
		@Override
		public void afterCompletion(int status) {
			unbind();
			if (status != STATUS_COMMITTED) {
				putBack(0);
			}
		}

		private void putBack(int from) {
			while (this.keys.size() > from) {
				TransactionKey last = this.keys.remove(this.keys.size() - 1);
				last.execution().putBack(last.number());
			}
		}

		private record TransactionKey(ClaimedExecution execution, int number) {
		}

	}

}
