/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.migration;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * A store to which the keys of another one, the source, move. A claim reads the source
 * first. If the key is completed there, or another owner has a live claim there, that is
 * the answer. Otherwise the key is claimed in the target. Only the target is written.
 * Records are not copied, so the source is needed until the retention of its last key has
 * ended.
 * <p>
 * Instances that use only the source must not run at the same time, because they do not
 * see the keys of the target.
 * <p>
 * The fencing tokens of a key in the target continue those of the source.
 *
 * @since 0.1.0
 */
public class MigratingStore implements IdempotencyStore {

	private static final Claim NEW = new Claim.Acquired(1, 1);

	final IdempotencyStore source;

	private final IdempotencyStore target;

	// The target for calls beside the transaction of a handler.
	private final IdempotencyStore aside;

	private MigratingStore(IdempotencyStore source, IdempotencyStore target, IdempotencyStore aside) {
		this.source = source;
		this.target = target;
		this.aside = aside;
	}

	/**
	 * Create a store. It supports transactions if the target does.
	 * @param source the store that has the keys
	 * @param target the store to which they move
	 * @return the store
	 */
	public static IdempotencyStore of(IdempotencyStore source, IdempotencyStore target) {
		return of(source, target, UnaryOperator.identity());
	}

	/**
	 * Create a store whose claims may be made while a transaction of a handler holds a
	 * connection.
	 * @param source the store that has the keys. It may be such a store itself
	 * @param target the store to which they move
	 * @param aside returns a store with the same records and with connections that
	 * handlers cannot exhaust
	 * @return the store
	 */
	public static IdempotencyStore of(IdempotencyStore source, IdempotencyStore target,
			UnaryOperator<IdempotencyStore> aside) {
		IdempotencyStore read = aside(source, aside);
		return (target instanceof TransactionalIdempotencyStore transactional)
				? new Transactional(read, transactional, aside.apply(target))
				: new MigratingStore(read, target, aside.apply(target));
	}

	private static IdempotencyStore aside(IdempotencyStore store, UnaryOperator<IdempotencyStore> aside) {
		return (store instanceof MigratingStore migrating) ? of(migrating.source, aside.apply(migrating.target), aside)
				: aside.apply(store);
	}

	public static IdempotencyStore target(IdempotencyStore store) {
		return (store instanceof MigratingStore migrating) ? migrating.target : store;
	}

	@Override
	public String name() {
		return this.target.name();
	}

	@Override
	public Optional<String> warning() {
		return this.target.warning();
	}

	@Override
	public @Nullable String leaseProblem() {
		String problem = this.target.leaseProblem();
		return (problem != null) ? problem : this.source.leaseProblem();
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return claimed(requests, Function.identity(), this.target::claim);
	}

	// Claim the keys that the source leaves free.
	final <T> List<T> claimed(List<ClaimRequest> requests, Function<Claim, T> answer,
			Function<List<ClaimRequest>, List<T>> claim) {
		// Most keys of a batch are new. One call to the source finds the others.
		Set<IdempotencyKey> known = (requests.size() == 1) ? Set.of(requests.get(0).key())
				: this.source.find(requests.stream().map(ClaimRequest::key).toList()).keySet();
		List<@Nullable T> answers = new ArrayList<>();
		List<ClaimRequest> free = new ArrayList<>();
		for (ClaimRequest request : requests) {
			Claim found = known.contains(request.key()) ? askSource(request) : NEW;
			if (found instanceof Claim.Acquired next) {
				raiseFence(request, next.fence(), next.attempt());
				free.add(request);
				answers.add(null);
			}
			else {
				answers.add(answer.apply(found));
			}
		}
		Iterator<T> claims = (free.isEmpty() ? List.<T>of() : claim.apply(free)).iterator();
		return answers.stream().map((found) -> (found != null) ? found : claims.next()).toList();
	}

	// Return the answer of the source, unless the target has completed a
	// higher version.
	final Claim askSource(ClaimRequest request) {
		Claim answer = this.source.lookUp(request);
		if (answer instanceof Claim.Acquired || request.version() == null) {
			return answer;
		}
		Claim later = this.aside.lookUp(request);
		return (later instanceof Claim.Stale) ? later : answer;
	}

	// Let the next claim of a key in the target have at least a fencing token. The
	// target has a record with a lower one if the keys have moved from it to the
	// source before.
	private void raiseFence(ClaimRequest request, int fence, int attempt) {
		while (fence > 1 && this.aside.lookUp(request) instanceof Claim.Acquired next && next.fence() < fence) {
			if (this.aside.restore(request, new Claim.Acquired(fence - 1, attempt)) == Settlement.LOST) {
				this.aside.claim(List.of(request));
			}
			// Counts no attempt, and only the owner can do it.
			this.aside.settle(List.of(new Ending.Released(request)));
		}
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		Claim found = askSource(request);
		Claim claim = (found instanceof Claim.Acquired) ? this.target.lookUp(request) : found;
		return (found instanceof Claim.Acquired next && claim instanceof Claim.Acquired own
				&& own.fence() < next.fence()) ? next : claim;
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		return this.target.settle(endings);
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return this.target.renew(claims);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return this.target.restore(claim, acquired);
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		Map<IdempotencyKey, IdempotencyRecord> records = new HashMap<>(this.target.find(keys));
		records.putAll(this.source.find(keys.stream().filter((key) -> !records.containsKey(key)).toList()));
		return records;
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return this.target.records();
	}

	@Override
	public void ping() {
		this.target.ping();
	}

	/**
	 * A migration to a store that can write the record in the transaction of the handler.
	 */
	private static final class Transactional extends MigratingStore implements TransactionalIdempotencyStore {

		private final TransactionalIdempotencyStore target;

		Transactional(IdempotencyStore source, TransactionalIdempotencyStore target, IdempotencyStore aside) {
			super(source, target, aside);
			this.target = target;
		}

		@Override
		public List<Optional<Claim>> insert(List<ClaimRequest> requests) {
			return claimed(requests, Optional::of, this.target::insert);
		}

		@Override
		public List<Claim> claimInTransaction(List<ClaimRequest> requests, boolean joined) {
			return claimed(requests, Function.identity(), (free) -> this.target.claimInTransaction(free, joined));
		}

		@Override
		public void storeResults(List<Ending.Completed> completions) {
			this.target.storeResults(completions);
		}

		@Override
		public void requireCommittable() {
			this.target.requireCommittable();
		}

		@Override
		public @Nullable String isolationProblem(int isolation) {
			return this.target.isolationProblem(isolation);
		}

		// Return the marks of the target. Without marks in the source, the records
		// that it has processed are known by their coordinates only.
		@Override
		public Optional<OffsetMarks> offsetMarks() {
			return OffsetMarkCopy.marks(this.source).flatMap((marks) -> this.target.offsetMarks());
		}

		@Override
		public List<Settlement> settleAfterTransaction(List<Ending> endings, List<OffsetMark> marks) {
			return this.target.settleAfterTransaction(endings, marks);
		}

	}

}
