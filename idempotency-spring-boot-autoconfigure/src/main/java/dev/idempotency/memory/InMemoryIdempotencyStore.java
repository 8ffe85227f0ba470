package dev.idempotency.memory;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A store in the memory of this process, for tests. Its records are lost when the process
 * ends, and other instances do not see them.
 *
 * @since 0.1.0
 */
public final class InMemoryIdempotencyStore implements IdempotencyStore, ExpiredRecords {

	private final Map<IdempotencyKey, Entry> entries = new ConcurrentHashMap<>();

	private final InstantSource clock;

	private final InMemoryRecords records;

	/**
	 * Create an empty store that uses the system clock.
	 */
	public InMemoryIdempotencyStore() {
		this(Clock.systemUTC());
	}

	/**
	 * Create an empty store.
	 * @param clock the clock of the store, which must not go back
	 */
	public InMemoryIdempotencyStore(InstantSource clock) {
		this.clock = clock;
		this.records = new InMemoryRecords(this.entries, clock);
	}

	@Override
	public String name() {
		return "in-memory";
	}

	@Override
	public String table() {
		return "memory";
	}

	@Override
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		return requests.stream()
			.map((request) -> atomically(request, (entry, now) -> claimed(entry, request, now)))
			.toList();
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return claimed(this.entries.get(request.key()), request, this.clock.instant()).answer();
	}

	private static Step<Claim> claimed(@Nullable Entry entry, ClaimRequest request, Instant now) {
		if (entry == null) {
			return acquired(Entry.claimed(request, 1, 1, null, null, now, now));
		}
		if (entry.state() == State.COMPLETED && (entry.isExpired(now) || entry.isBelow(request))) {
			return acquired(entry.reclaimed(request, entry.fence() + 1, 1, now));
		}
		if (entry.isInProgress() && entry.isOwnedBy(request)) {
			return acquired(entry.reclaimed(request, entry.fence(), entry.attempt(), now));
		}
		Long version = request.version();
		Long completed = entry.completedVersion();
		boolean repeated = version != null && version.equals(completed);
		if (version != null && completed != null && completed > version) {
			return new Step<>(entry, new Claim.Stale(completed));
		}
		if (!repeated && entry.state() != State.COMPLETED && !entry.isLive(now)) {
			return acquired(entry.reclaimed(request, entry.fence() + 1, entry.attempt() + 1, now));
		}
		// The fingerprint of a claim in progress is not that of the version that has
		// completed.
		if ((version == null || entry.state() == State.COMPLETED)
				&& Fingerprint.differs(request.key(), entry.fingerprint(), request.fingerprint())) {
			return new Step<>(entry, new Claim.Mismatch());
		}
		return new Step<>(entry,
				(repeated || entry.state() == State.COMPLETED) ? new Claim.Completed(copy(entry.result()))
						: new Claim.InProgress(Duration.between(now, entry.claimedUntil())));
	}

	private static Step<Claim> acquired(Entry entry) {
		return new Step<>(entry, new Claim.Acquired(entry.fence(), entry.attempt()));
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		return completions.stream()
			.map((completion) -> settle(completion.claim(),
					(entry, now) -> entry.isInProgress() ? entry.completed(copy(completion.result()), now)
							: (entry.state() == State.COMPLETED) ? entry : null))
			.toList();
	}

	// Without a round trip it costs nothing, and tests of applications see it happen.
	@Override
	public boolean supportsClaimAhead() {
		return true;
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return claims.stream()
			.map((claim) -> settle(claim,
					(entry, now) -> entry.isInProgress() ? entry.failed(entry.token(), failure, entry.attempt())
							: (entry.state() == State.FAILED && entry.failure() != null) ? entry : null))
			.toList();
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return claims.stream()
			.map((claim) -> settle(claim,
					(entry, now) -> entry.isInProgress() ? entry.failed(entry.token(), null, entry.attempt() - 1)
							: (entry.state() == State.FAILED && entry.failure() == null) ? entry : null))
			.toList();
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return claims.stream().map((claim) -> settle(claim, (entry, now) -> entry.renewed(claim, now))).toList();
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return atomically(claim,
				(entry, now) -> (entry != null) ? settled(entry, claim, entry.renewed(claim, now))
						: new Step<>(Entry.claimed(claim, acquired.fence(), acquired.attempt(), null, null, now, now),
								Settlement.SETTLED));
	}

	// The change returns null if the state does not allow the settlement, and the entry
	// itself for a repeated settlement.
	private Settlement settle(ClaimRequest claim, BiFunction<Entry, Instant, @Nullable Entry> change) {
		return atomically(claim, (entry, now) -> (entry != null) ? settled(entry, claim, change.apply(entry, now))
				: new Step<>(null, Settlement.FORGOTTEN));
	}

	private static Step<Settlement> settled(Entry entry, ClaimRequest claim, @Nullable Entry next) {
		return (next != null && entry.isOwnedBy(claim)) ? new Step<>(next, Settlement.SETTLED)
				: new Step<>(entry, Settlement.LOST);
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> findAll(Collection<IdempotencyKey> keys) {
		Map<IdempotencyKey, IdempotencyRecord> records = new HashMap<>();
		for (IdempotencyKey key : keys) {
			Entry entry = this.entries.get(key);
			if (entry != null) {
				records.put(key, entry.toRecord(key));
			}
		}
		return records;
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
	}

	// No other process shares the entries, so there is no reason for a pause.
	@Override
	public int deleteExpired(int limit, Duration pause) {
		int deleted = 0;
		for (Map.Entry<IdempotencyKey, Entry> entry : this.entries.entrySet()) {
			if (deleted < limit && entry.getValue().isExpired(this.clock.instant())
					&& this.entries.remove(entry.getKey(), entry.getValue())) {
				deleted++;
			}
		}
		return deleted;
	}

	@Override
	public Duration backlogAge() {
		Instant now = this.clock.instant();
		return this.entries.values()
			.stream()
			.filter((entry) -> entry.isExpired(now))
			.map((entry) -> Duration.between(entry.expiresAt(), now))
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO);
	}

	// The clock is read while the entry is locked. Otherwise a later change of an entry
	// could have an earlier time.
	private <T> T atomically(ClaimRequest request, BiFunction<@Nullable Entry, Instant, Step<T>> protocol) {
		AtomicReference<T> answer = new AtomicReference<>();
		this.entries.compute(request.key(), (key, entry) -> {
			Step<T> step = protocol.apply(entry, this.clock.instant());
			answer.set(step.answer());
			return step.next();
		});
		return Objects.requireNonNull(answer.get());
	}

	private static byte @Nullable [] copy(byte @Nullable [] bytes) {
		return (bytes != null) ? bytes.clone() : null;
	}

	/**
	 * The transition of a key to its next entry.
	 *
	 * @param <T> the type of the answer
	 * @param next the next entry, {@code null} if the key stays absent
	 * @param answer the answer to the caller
	 */
	private record Step<T>(@Nullable Entry next, T answer) {

	}

	/**
	 * The record of a key.
	 *
	 * @param token the owner token of the last claim
	 * @param state the state; failed without a failure means released
	 * @param fence the fencing token of the last claim
	 * @param attempt the number of starts of the operation since it last completed
	 * @param fingerprint the fingerprint of the last claim, if it had one
	 * @param version the version of the last claim, if it had one
	 * @param completedVersion the version that completed last, if there is one
	 * @param result the result of the completion, if there is one
	 * @param failure the reason of the last failure, if there is one
	 * @param claimedUntil the time at which the last claim expires
	 * @param createdAt the time of the first claim
	 * @param completedAt the time of the completion, if the operation has completed
	 * @param expiresAt the time at which the retention ends
	 */
	record Entry(UUID token, State state, int fence, int attempt, byte @Nullable [] fingerprint, @Nullable Long version,
			@Nullable Long completedVersion, byte @Nullable [] result, @Nullable Failure failure, Instant claimedUntil,
			Instant createdAt, @Nullable Instant completedAt, Instant expiresAt) {

		static Entry claimed(ClaimRequest request, int fence, int attempt, @Nullable Long completedVersion,
				byte @Nullable [] result, Instant createdAt, Instant now) {
			return new Entry(request.token(), State.IN_PROGRESS, fence, attempt, copy(request.fingerprint()),
					request.version(), completedVersion, result, null, now.plus(request.lease()), createdAt, null,
					now.plus(request.retention()));
		}

		Entry reclaimed(ClaimRequest request, int fence, int attempt, Instant now) {
			return claimed(request, fence, attempt, this.completedVersion,
					(this.completedVersion != null) ? this.result : null, this.createdAt, now);
		}

		Entry completed(byte @Nullable [] result, Instant now) {
			return new Entry(this.token, State.COMPLETED, this.fence, this.attempt, this.fingerprint, this.version,
					(this.version != null) ? this.version : this.completedVersion, result, null, this.claimedUntil,
					this.createdAt, now, this.expiresAt);
		}

		Entry failed(UUID token, @Nullable Failure failure, int attempt) {
			return new Entry(token, State.FAILED, this.fence, attempt, this.fingerprint, this.version,
					this.completedVersion, (this.completedVersion != null) ? this.result : null, failure,
					this.claimedUntil, this.createdAt, null, this.expiresAt);
		}

		@Nullable Entry renewed(ClaimRequest claim, Instant now) {
			return isInProgress() ? new Entry(this.token, this.state, this.fence, this.attempt, this.fingerprint,
					this.version, this.completedVersion, this.result, this.failure, now.plus(claim.lease()),
					this.createdAt, this.completedAt, this.expiresAt) : null;
		}

		boolean isOwnedBy(ClaimRequest request) {
			return this.token.equals(request.token());
		}

		boolean isInProgress() {
			return this.state == State.IN_PROGRESS;
		}

		boolean isBelow(ClaimRequest request) {
			return request.version() != null
					&& (this.completedVersion == null || this.completedVersion < request.version());
		}

		boolean isLive(Instant now) {
			return isInProgress() && now.isBefore(this.claimedUntil);
		}

		boolean isExpired(Instant now) {
			return !now.isBefore(this.expiresAt) && !isLive(now);
		}

		IdempotencyRecord toRecord(IdempotencyKey key) {
			return new IdempotencyRecord(key, this.state, this.fence, this.attempt,
					isInProgress() ? this.claimedUntil : null, this.createdAt, this.completedAt, this.expiresAt,
					this.failure, this.completedVersion);
		}

	}

}
