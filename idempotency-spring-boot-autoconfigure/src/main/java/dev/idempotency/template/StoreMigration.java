package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntPredicate;
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
 * possible. The target is asked before the source is claimed: a claim that the target
 * refuses must not disturb the record that its owner has in the source. If the process
 * dies between the two completions, the operation may be taken over in the store that has
 * none, by an instance that does not ask the other one.
 * <p>
 * Fencing tokens grow across the migration: a key that is free but known in the source
 * begins in the target with the next fencing token of the source. In transactional mode
 * such a key begins with 1, because no other transaction sees an uncommitted effect.
 *
 * @since 0.1.0
 */
public class StoreMigration implements IdempotencyStore, AutoCloseable {

	// Each step raises the fencing token of the target by one. The next claim continues.
	private static final int MAX_STEPS = 50;

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	private static final int MAX_HALF_COMPLETED = 10_000;

	private final IdempotencyStore source;

	private final IdempotencyStore target;

	// The tokens of completions that only the source has confirmed. They are repeated,
	// and until then the source refuses to renew them, because they are completed.
	private final Set<UUID> halfCompleted = Collections.newSetFromMap(new LinkedHashMap<>() {

		@Override
		protected boolean removeEldestEntry(Map.Entry<UUID, Boolean> eldest) {
			return size() > MAX_HALF_COMPLETED;
		}

	});

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
		if (!this.dualWrite) {
			return claimed(requests, askSource(requests), this::claimTarget);
		}
		// A key that is not free in the target is not claimed in the source.
		List<Claim> known = requests.stream().map(this.target::lookUp).toList();
		return claimed(requests, known, this::claimBoth);
	}

	private List<Claim> claimBoth(List<ClaimRequest> requests, List<Claim> known) {
		List<Claim> granted = each(requests, this.source::claim, this.source::claimAll);
		count(granted);
		try {
			List<Claim> claims = claimed(requests, granted, this::claimTarget);
			releaseInSource(requests, granted, (i) -> !(claims.get(i) instanceof Claim.Acquired));
			return claims;
		}
		catch (RuntimeException ex) {
			// Otherwise the key would be in progress for a lease, without an owner.
			try {
				releaseInSource(requests, granted, (i) -> true);
			}
			catch (RuntimeException release) {
				ex.addSuppressed(release);
			}
			throw ex;
		}
	}

	private void releaseInSource(List<ClaimRequest> requests, List<Claim> granted, IntPredicate condition) {
		List<ClaimRequest> released = IntStream.range(0, requests.size())
			.filter((i) -> granted.get(i) instanceof Claim.Acquired && condition.test(i))
			.mapToObj(requests::get)
			.toList();
		each(released, this.source::release, this.source::releaseAll);
	}

	final List<Claim> askSource(List<ClaimRequest> requests) {
		List<Claim> answers = requests.stream().map(this.source::lookUp).toList();
		count(answers);
		return IntStream.range(0, requests.size()).mapToObj((i) -> newer(requests.get(i), answers.get(i))).toList();
	}

	// The version that the source has completed last may be below that of the target.
	private Claim newer(ClaimRequest request, Claim answer) {
		if (request.version() == null || !(answer instanceof Claim.Completed)) {
			return answer;
		}
		Claim known = this.target.lookUp(request);
		return (known instanceof Claim.Stale) ? known : answer;
	}

	private void count(List<Claim> answers) {
		answers.stream().filter((answer) -> !(answer instanceof Claim.Acquired)).forEach(this.answered);
	}

	private List<Claim> claimTarget(List<ClaimRequest> requests, List<Claim> next) {
		if (next.stream().anyMatch((known) -> ((Claim.Acquired) known).fence() > 1)) {
			return IntStream.range(0, requests.size())
				.mapToObj((i) -> claimTarget(requests.get(i), (Claim.Acquired) next.get(i)))
				.toList();
		}
		return each(requests, this.target::claim, this.target::claimAll);
	}

	private Claim claimTarget(ClaimRequest request, Claim.Acquired next) {
		boolean restored = next.fence() > 1 && this.target.find(request.key()).isEmpty()
				&& this.target.restore(request, next) == Settlement.SETTLED;
		return restored ? next : raise(request, this.target.claim(request), next.fence());
	}

	// An instance that uses only the source may have claimed the key since the target got
	// its record. A claim that is released and repeated raises the fencing token without
	// counting an attempt, and only its owner can do that.
	private Claim raise(ClaimRequest request, Claim first, int fence) {
		Claim claim = first;
		for (int step = 0; claim instanceof Claim.Acquired acquired && acquired.fence() < fence; step++) {
			if (this.target.release(request) != Settlement.SETTLED || step == MAX_STEPS) {
				return new Claim.InProgress(RETRY_AFTER);
			}
			claim = this.target.claim(request);
		}
		return claim;
	}

	/**
	 * Claim the keys that an earlier look-up or claim has left open.
	 */
	private static List<Claim> claimed(List<ClaimRequest> requests, List<Claim> answers,
			BiFunction<List<ClaimRequest>, List<Claim>, List<Claim>> claim) {
		List<Integer> open = open(answers);
		List<Claim> all = new ArrayList<>(answers);
		if (!open.isEmpty()) {
			List<Claim> claims = claim.apply(open.stream().map(requests::get).toList(),
					open.stream().map(answers::get).toList());
			for (int i = 0; i < open.size(); i++) {
				all.set(open.get(i), claims.get(i));
			}
		}
		return all;
	}

	static List<Integer> open(List<Claim> answers) {
		return IntStream.range(0, answers.size())
			.filter((i) -> answers.get(i) instanceof Claim.Acquired)
			.boxed()
			.toList();
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		Claim answer = this.source.lookUp(request);
		if (!(answer instanceof Claim.Acquired next)) {
			return newer(request, answer);
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
		if (!this.dualWrite) {
			return completeAll(this.target, completions);
		}
		return settleAll(completions, Completion::claim, (items) -> completeAll(this.source, items), (items) -> {
			items.forEach((item) -> halfCompleted(item.claim(), true));
			List<Settlement> completed = completeAll(this.target, items);
			for (int i = 0; i < items.size(); i++) {
				// A key that the target has forgotten is restored there first.
				halfCompleted(items.get(i).claim(), completed.get(i) == Settlement.FORGOTTEN);
			}
			return completed;
		});
	}

	private static List<Settlement> completeAll(IdempotencyStore store, List<Completion> completions) {
		return each(completions, (completion) -> store.complete(completion.claim(), completion.result()),
				store::completeAll);
	}

	private void halfCompleted(ClaimRequest claim, boolean half) {
		synchronized (this.halfCompleted) {
			if (half) {
				this.halfCompleted.add(claim.token());
			}
			else {
				this.halfCompleted.remove(claim.token());
			}
		}
	}

	private boolean isHalfCompleted(ClaimRequest claim) {
		synchronized (this.halfCompleted) {
			return this.halfCompleted.contains(claim.token());
		}
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return failAll(List.of(claim), failure).get(0);
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return freeAll(claims, (store, freed) -> each(freed, (claim) -> store.fail(claim, failure),
				(all) -> store.failAll(all, failure)));
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return releaseAll(List.of(claim)).get(0);
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return freeAll(claims, (store, freed) -> each(freed, store::release, store::releaseAll));
	}

	// A claim that the source has forgotten is freed in the target nevertheless, and the
	// other way round.
	private List<Settlement> freeAll(List<ClaimRequest> claims,
			BiFunction<IdempotencyStore, List<ClaimRequest>, List<Settlement>> free) {
		if (!this.dualWrite) {
			return free.apply(this.target, claims);
		}
		List<Settlement> inSource = free.apply(this.source, claims);
		List<Settlement> inTarget = free.apply(this.target, claims);
		return IntStream.range(0, claims.size())
			.mapToObj((i) -> (inSource.get(i) == Settlement.FORGOTTEN
					|| (inSource.get(i) == Settlement.SETTLED && inTarget.get(i) != Settlement.FORGOTTEN))
							? inTarget.get(i) : inSource.get(i))
			.toList();
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return renewAll(List.of(claim)).get(0);
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		if (!this.dualWrite) {
			return renewAll(this.target, claims);
		}
		return settleAll(claims, Function.identity(), (items) -> {
			List<Settlement> renewed = renewAll(this.source, items);
			return IntStream.range(0, items.size())
				.mapToObj((i) -> isHalfCompleted(items.get(i)) ? Settlement.SETTLED : renewed.get(i))
				.toList();
		}, (items) -> renewAll(this.target, items));
	}

	private static List<Settlement> renewAll(IdempotencyStore store, List<ClaimRequest> claims) {
		return each(claims, store::renew, store::renewAll);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		Settlement restored = (this.dualWrite && !isHalfCompleted(claim)) ? this.source.restore(claim, acquired)
				: Settlement.SETTLED;
		return (restored == Settlement.SETTLED) ? this.target.restore(claim, acquired) : restored;
	}

	// The target is settled if the source was. If another owner has the key in the
	// source, the target is released, so that the claim does not block the key there.
	private <T> List<Settlement> settleAll(List<T> items, Function<T, ClaimRequest> claim,
			Function<List<T>, List<Settlement>> source, Function<List<T>, List<Settlement>> target) {
		List<Settlement> settlements = new ArrayList<>(source.apply(items));
		List<Integer> settled = IntStream.range(0, items.size())
			.filter((i) -> settlements.get(i) == Settlement.SETTLED)
			.boxed()
			.toList();
		List<Settlement> answers = settled.isEmpty() ? List.of()
				: target.apply(settled.stream().map(items::get).toList());
		for (int i = 0; i < settled.size(); i++) {
			settlements.set(settled.get(i), answers.get(i));
		}
		List<ClaimRequest> lost = IntStream.range(0, items.size())
			.filter((i) -> settlements.get(i) == Settlement.LOST && !settled.contains(i))
			.mapToObj((i) -> claim.apply(items.get(i)))
			.toList();
		each(lost, this.target::release, this.target::releaseAll);
		return settlements;
	}

	// One item takes the call for one, which a store may answer faster.
	private static <T, R> List<R> each(List<T> items, Function<T, R> one, Function<List<T>, List<R>> all) {
		return switch (items.size()) {
			case 0 -> List.of();
			case 1 -> List.of(one.apply(items.get(0)));
			default -> all.apply(items);
		};
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return this.target.find(key).or(() -> this.source.find(key));
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> findAll(Collection<IdempotencyKey> keys) {
		Map<IdempotencyKey, IdempotencyRecord> records = new HashMap<>(this.source.findAll(keys));
		records.putAll(this.target.findAll(keys));
		return records;
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
			List<Integer> open = open(answers);
			List<T> claimed = open.isEmpty() ? List.of() : claim.apply(open.stream().map(requests::get).toList());
			List<T> all = new ArrayList<>(answers.stream().map(answer).toList());
			for (int i = 0; i < open.size(); i++) {
				all.set(open.get(i), claimed.get(i));
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
