package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * A store whose keys move from another store while the application runs. A claim first
 * asks the source: if the key is completed there, or another owner has a live claim
 * there, that is the answer. Otherwise the key is claimed in the target. Records are not
 * copied, so the source is needed until the retention of its last key has ended.
 * <p>
 * Without dual writes only the target is written. Instances that use only the source must
 * not run at the same time, because they do not see the keys of the target.
 * <p>
 * With dual writes each key is claimed and settled in both stores, the source first. So
 * instances with dual writes exclude those that use only the source, those without dual
 * writes and those that use only the target, and a rolling update in two steps is
 * possible. The source decides between two owners if one of them uses only the source,
 * otherwise the target does. If the process dies between the two completions, the
 * operation may be taken over as if it had died before them.
 * <p>
 * Fencing tokens grow across the migration: a key that is free but known in the source
 * begins in the target with the next fencing token of the source. In transactional mode
 * such a key begins with 1, because no other transaction sees an uncommitted effect.
 *
 * @since 0.1.0
 */
public class StoreMigration implements IdempotencyStore, AutoCloseable {

	private final IdempotencyStore source;

	private final IdempotencyStore target;

	private final boolean dualWrite;

	private final Consumer<Claim> answered;

	private StoreMigration(IdempotencyStore source, IdempotencyStore target, boolean dualWrite,
			Consumer<Claim> answered) {
		this.source = source;
		this.target = target;
		this.dualWrite = dualWrite;
		this.answered = answered;
	}

	/**
	 * Create a store that writes only the target. It supports transactions if the target
	 * does.
	 * @param source the store that has the keys
	 * @param target the store to which they move
	 * @param answered called with each answer of the source that decided a claim
	 * @return the store
	 */
	public static StoreMigration of(IdempotencyStore source, IdempotencyStore target, Consumer<Claim> answered) {
		return (target instanceof TransactionalIdempotencyStore transactional)
				? new Transactional(source, transactional, answered)
				: new StoreMigration(source, target, false, answered);
	}

	/**
	 * Create a store that writes both stores. It supports leased mode only.
	 * @param source the store that has the keys
	 * @param target the store to which they move
	 * @param answered called with each answer of the source that decided a claim
	 * @return the store
	 */
	public static StoreMigration withDualWrite(IdempotencyStore source, IdempotencyStore target,
			Consumer<Claim> answered) {
		return new StoreMigration(source, target, true, answered);
	}

	/**
	 * Return the store to which the keys move.
	 * @param store a store
	 * @return the target of a migration, otherwise the store itself
	 */
	public static IdempotencyStore target(IdempotencyStore store) {
		return (store instanceof StoreMigration migration) ? migration.target : store;
	}

	final IdempotencyStore source() {
		return this.source;
	}

	@Override
	public String name() {
		return this.target.name();
	}

	@Override
	public Optional<String> warning() {
		return this.target.warning().or(this.source::warning);
	}

	@Override
	public boolean supportsLeases() {
		return this.target.supportsLeases() && this.source.supportsLeases();
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return claimAll(List.of(request)).get(0);
	}

	@Override
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		List<Claim> granted = askSource(requests);
		List<Claim> claims = new ArrayList<>(granted);
		List<Integer> fresh = new ArrayList<>();
		for (int i = 0; i < claims.size(); i++) {
			if (claims.get(i) instanceof Claim.Acquired next) {
				if (next.fence() == 1) {
					fresh.add(i);
				}
				else {
					claims.set(i, claimKnown(requests.get(i), next));
				}
			}
		}
		List<Claim> claimed = each(fresh.stream().map(requests::get).toList(), this.target::claim,
				this.target::claimAll);
		for (int i = 0; i < fresh.size(); i++) {
			claims.set(fresh.get(i), claimed.get(i));
		}
		return this.dualWrite ? agreed(requests, granted, claims) : claims;
	}

	final List<Claim> askSource(List<ClaimRequest> requests) {
		List<Claim> answers = this.dualWrite ? each(requests, this.source::claim, this.source::claimAll)
				: requests.stream().map(this.source::lookUp).toList();
		answers.stream().filter((answer) -> !(answer instanceof Claim.Acquired)).forEach(this.answered);
		return answers;
	}

	// The source has a record of the key, which is free. Instances that use only the
	// source may have claimed it since the target got its record, so the target may have
	// to catch up with the fencing token.
	private Claim claimKnown(ClaimRequest request, Claim.Acquired next) {
		if (this.target.find(request.key()).isEmpty() && this.target.restore(request, next) == Settlement.SETTLED) {
			return next;
		}
		Claim claim = this.target.claim(request);
		Optional<IdempotencyRecords> records = this.target.records();
		if (!(claim instanceof Claim.Acquired acquired) || acquired.fence() >= next.fence() || records.isEmpty()) {
			return claim;
		}
		records.get().evict(request.key(), true);
		return (this.target.restore(request, next) == Settlement.SETTLED) ? next : this.target.claim(request);
	}

	// A key that the source granted and the target refused is released in the source.
	private List<Claim> agreed(List<ClaimRequest> requests, List<Claim> granted, List<Claim> claims) {
		List<ClaimRequest> refused = IntStream.range(0, requests.size())
			.filter((i) -> granted.get(i) instanceof Claim.Acquired && !(claims.get(i) instanceof Claim.Acquired))
			.mapToObj(requests::get)
			.toList();
		each(refused, this.source::release, this.source::releaseAll);
		return claims;
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		Claim answer = this.source.lookUp(request);
		if (!(answer instanceof Claim.Acquired next)) {
			return answer;
		}
		Claim claim = this.target.lookUp(request);
		return (claim instanceof Claim.Acquired acquired) ? later(acquired, next) : claim;
	}

	private static Claim.Acquired later(Claim.Acquired first, Claim.Acquired second) {
		return (first.fence() >= second.fence()) ? first : second;
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return completeAll(List.of(new Completion(claim, result))).get(0);
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		return settleAll(completions,
				(store, settled) -> each(settled,
						(completion) -> store.complete(completion.claim(), completion.result()), store::completeAll),
				this::completeForgotten);
	}

	// The source has the completion, so the target gets it as that of a new claim.
	private Settlement completeForgotten(Completion completion) {
		return (this.target.claim(completion.claim()) instanceof Claim.Acquired)
				? this.target.complete(completion.claim(), completion.result()) : Settlement.LOST;
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return failAll(List.of(claim), failure).get(0);
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return settleAll(claims, (store, settled) -> each(settled, (claim) -> store.fail(claim, failure),
				(all) -> store.failAll(all, failure)), (claim) -> Settlement.SETTLED);
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return releaseAll(List.of(claim)).get(0);
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return settleAll(claims, (store, settled) -> each(settled, store::release, store::releaseAll),
				(claim) -> Settlement.SETTLED);
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return renewAll(List.of(claim)).get(0);
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return settleAll(claims, this::renewAll, (claim) -> Settlement.FORGOTTEN);
	}

	// If only the source has recorded a completion, its repetition needs the lease in the
	// target. If another owner has completed the key there, the repetition reports it.
	private List<Settlement> renewAll(IdempotencyStore store, List<ClaimRequest> claims) {
		List<Settlement> renewed = each(claims, store::renew, store::renewAll);
		if (store != this.source) {
			return renewed;
		}
		return IntStream.range(0, claims.size())
			.mapToObj((i) -> (renewed.get(i) == Settlement.LOST
					&& this.source.lookUp(claims.get(i)) instanceof Claim.Completed) ? Settlement.SETTLED
							: renewed.get(i))
			.toList();
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		Settlement restored = this.dualWrite ? this.source.restore(claim, acquired) : Settlement.SETTLED;
		return (restored == Settlement.SETTLED) ? this.target.restore(claim, acquired) : restored;
	}

	// One item takes the call for one, which a store may answer faster.
	private static <T, R> List<R> each(List<T> items, Function<T, R> one, Function<List<T>, List<R>> all) {
		return switch (items.size()) {
			case 0 -> List.of();
			case 1 -> List.of(one.apply(items.get(0)));
			default -> all.apply(items);
		};
	}

	// With dual writes the target is settled if the source was. What the target has
	// forgotten is settled as the last argument says.
	private <T> List<Settlement> settleAll(List<T> items,
			BiFunction<IdempotencyStore, List<T>, List<Settlement>> settle, Function<T, Settlement> forgotten) {
		if (!this.dualWrite) {
			return settle.apply(this.target, items);
		}
		List<Settlement> settlements = new ArrayList<>(settle.apply(this.source, items));
		List<Integer> settled = IntStream.range(0, items.size())
			.filter((i) -> settlements.get(i) == Settlement.SETTLED)
			.boxed()
			.toList();
		List<Settlement> answers = settle.apply(this.target, settled.stream().map(items::get).toList());
		for (int i = 0; i < settled.size(); i++) {
			int index = settled.get(i);
			settlements.set(index,
					(answers.get(i) == Settlement.FORGOTTEN) ? forgotten.apply(items.get(index)) : answers.get(i));
		}
		return settlements;
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return this.target.find(key).or(() -> this.source.find(key));
	}

	/**
	 * Return access to the records of the target.
	 */
	@Override
	public Optional<IdempotencyRecords> records() {
		return this.target.records();
	}

	@Override
	public void ping() {
		this.target.ping();
		this.source.ping();
	}

	/**
	 * Close the target. The source is closed by its owner.
	 */
	@Override
	public void close() throws Exception {
		if (this.target instanceof AutoCloseable closeable) {
			closeable.close();
		}
	}

	/**
	 * A migration to a store that can write the record in the transaction of the handler.
	 */
	private static final class Transactional extends StoreMigration implements TransactionalIdempotencyStore {

		private final TransactionalIdempotencyStore target;

		Transactional(IdempotencyStore source, TransactionalIdempotencyStore target, Consumer<Claim> answered) {
			super(source, target, false, answered);
			this.target = target;
		}

		@Override
		public Optional<Claim.Acquired> insert(ClaimRequest request) {
			// An answer of the source is asked for again by claimInTransaction.
			return (source().lookUp(request) instanceof Claim.Acquired) ? this.target.insert(request)
					: Optional.empty();
		}

		@Override
		public List<Optional<Claim>> insertAll(List<ClaimRequest> requests) {
			return claimed(requests, this.target::insertAll, Optional::of);
		}

		@Override
		public Claim claimInTransaction(ClaimRequest request, boolean joined) {
			return claimAllInTransaction(List.of(request), joined).get(0);
		}

		@Override
		public List<Claim> claimAllInTransaction(List<ClaimRequest> requests, boolean joined) {
			return claimed(requests,
					(free) -> (free.size() == 1) ? List.of(this.target.claimInTransaction(free.get(0), joined))
							: this.target.claimAllInTransaction(free, joined),
					Function.identity());
		}

		private <T> List<T> claimed(List<ClaimRequest> requests, Function<List<ClaimRequest>, List<T>> claim,
				Function<Claim, T> answer) {
			List<Claim> answers = askSource(requests);
			List<Integer> free = IntStream.range(0, answers.size())
				.filter((i) -> answers.get(i) instanceof Claim.Acquired)
				.boxed()
				.toList();
			List<T> claimed = free.isEmpty() ? List.of() : claim.apply(free.stream().map(requests::get).toList());
			List<T> all = new ArrayList<>(answers.stream().map(answer).toList());
			for (int i = 0; i < free.size(); i++) {
				all.set(free.get(i), claimed.get(i));
			}
			return all;
		}

		@Override
		public void storeResult(ClaimRequest claim, byte[] result) {
			this.target.storeResult(claim, result);
		}

		@Override
		public void storeResults(List<Completion> completions) {
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

		@Override
		public Settlement noteFailure(ClaimRequest claim, Failure failure) {
			return this.target.noteFailure(claim, failure);
		}

		@Override
		public List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure) {
			return this.target.noteFailures(claims, failure);
		}

	}

}
