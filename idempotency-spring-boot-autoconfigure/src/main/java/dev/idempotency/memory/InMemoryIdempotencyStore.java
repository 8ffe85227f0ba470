package dev.idempotency.memory;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.Settlement;

/**
 * The store in the memory of this process, for tests: everything is forgotten at its end,
 * and no other instance knows of it.
 *
 * @since 0.1.0
 */
public final class InMemoryIdempotencyStore implements IdempotencyStore, ExpiredRecords {

	private final Map<IdempotencyKey, Entry> entries = new ConcurrentHashMap<>();

	private final InstantSource clock;

	private final InMemoryRecords records;

	/**
	 * Create an empty store on the system's clock.
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
	public Claim claim(ClaimRequest request) {
		return atomically(request, (entry, now) -> Transition.claim(entry, request, now));
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return atomically(claim, (entry, now) -> Transition.complete(entry, claim, result, now));
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return atomically(claim, (entry, now) -> Transition.fail(entry, claim, failure));
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return atomically(claim, (entry, now) -> Transition.release(entry, claim));
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return atomically(claim, (entry, now) -> Transition.renew(entry, claim, now));
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return atomically(claim, (entry, now) -> Transition.restore(entry, claim, acquired, now));
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.ofNullable(this.entries.get(key)).map((entry) -> entry.toRecord(key));
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
	}

	// Nobody else would be kept waiting by it.
	@Override
	public int deleteExpired(int limit, Duration pause) {
		int deleted = 0;
		for (Map.Entry<IdempotencyKey, Entry> entry : this.entries.entrySet()) {
			if (deleted < limit && entry.getValue().isForgettable(this.clock.instant())
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
			.filter((entry) -> entry.isForgettable(now))
			.map((entry) -> Duration.between(entry.expiresAt(), now))
			.max(Comparator.naturalOrder())
			.orElse(Duration.ZERO);
	}

	// The clock is read while the key is held, so that its entries are in the order of
	// their times.
	private <T> T atomically(ClaimRequest request, BiFunction<@Nullable Entry, Instant, Transition<T>> step) {
		AtomicReference<T> answer = new AtomicReference<>();
		this.entries.compute(request.key(), (key, entry) -> {
			Transition<T> transition = step.apply(entry, this.clock.instant());
			answer.set(transition.answer());
			return transition.next();
		});
		return Objects.requireNonNull(answer.get());
	}

}
