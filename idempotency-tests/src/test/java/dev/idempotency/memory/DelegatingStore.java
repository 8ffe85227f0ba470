package dev.idempotency.memory;

import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A correct store, as the delegate of a defective one. Its methods for several keys call
 * those for one key.
 */
class DelegatingStore implements IdempotencyStore {

	private final IdempotencyStore healthy;

	private final Map<IdempotencyKey, ClaimRequest> owners = new ConcurrentHashMap<>();

	private final Map<ClaimRequest, Integer> fences = new ConcurrentHashMap<>();

	DelegatingStore() {
		this(Clock.systemUTC());
	}

	DelegatingStore(InstantSource clock) {
		this.healthy = new InMemoryIdempotencyStore(clock);
	}

	@Override
	public String name() {
		return "defective";
	}

	@Override
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		return requests.stream().map(this::claim).toList();
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		return completions.stream().map((completion) -> complete(completion.claim(), completion.result())).toList();
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return claims.stream().map((claim) -> fail(claim, failure)).toList();
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return claims.stream().map(this::release).toList();
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return claims.stream().map(this::renew).toList();
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> findAll(Collection<IdempotencyKey> keys) {
		return keys.stream()
			.distinct()
			.map(this::find)
			.flatMap(Optional::stream)
			.collect(Collectors.toMap(IdempotencyRecord::key, Function.identity()));
	}

	@Override
	public Claim claim(ClaimRequest request) {
		Claim claim = this.healthy.claim(request);
		if (claim instanceof Claim.Acquired acquired) {
			this.owners.put(request.key(), request);
			this.fences.put(request, acquired.fence());
		}
		return claim;
	}

	// The last request that acquired the key, for stores that do not compare tokens.
	ClaimRequest owner(ClaimRequest claim) {
		ClaimRequest owner = this.owners.getOrDefault(claim.key(), claim);
		return new ClaimRequest(claim.key(), owner.token(), claim.fingerprint(), claim.lease(), claim.retention(),
				claim.version());
	}

	// For stores that check first and write later.
	boolean owns(ClaimRequest claim) {
		Integer fence = this.fences.get(claim);
		return fence != null && find(claim.key()).filter((record) -> record.fence() == fence).isPresent();
	}

	static ClaimRequest with(ClaimRequest claim, Duration lease, Duration retention) {
		return new ClaimRequest(claim.key(), claim.token(), claim.fingerprint(), lease, retention, claim.version());
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return this.healthy.complete(claim, result);
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return this.healthy.fail(claim, failure);
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return this.healthy.release(claim);
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return this.healthy.renew(claim);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return this.healthy.restore(claim, acquired);
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.healthy.lookUp(request);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return this.healthy.find(key);
	}

	@Override
	public void ping() {
		this.healthy.ping();
	}

}
