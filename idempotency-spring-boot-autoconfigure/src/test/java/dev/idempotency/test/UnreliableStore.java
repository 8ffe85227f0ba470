package dev.idempotency.test;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyListener.StoreCall;
import dev.idempotency.IdempotencyRecord;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.Settlement;

/**
 * Hands calls on to a real store, but for those that fail by the will of a test.
 */
public final class UnreliableStore implements IdempotencyStore {

	private final IdempotencyStore store;

	private final Set<StoreCall> failing = EnumSet.noneOf(StoreCall.class);

	private final Set<StoreCall> contended = EnumSet.noneOf(StoreCall.class);

	private final List<UUID> completions = new CopyOnWriteArrayList<>();

	public UnreliableStore(IdempotencyStore store) {
		this.store = store;
	}

	public void fail(StoreCall... calls) {
		this.failing.addAll(List.of(calls));
	}

	/**
	 * Let a concurrent transaction get in the way of calls.
	 * @param calls the calls
	 */
	public void contend(StoreCall... calls) {
		this.contended.addAll(List.of(calls));
	}

	public void recover() {
		this.failing.clear();
		this.contended.clear();
	}

	/**
	 * The owner tokens of all completions, failing ones included.
	 * @return the tokens
	 */
	public List<UUID> completions() {
		return this.completions;
	}

	private IdempotencyStore store(StoreCall call) {
		if (this.failing.contains(call)) {
			throw new IllegalStateException("No answer to " + call);
		}
		if (this.contended.contains(call)) {
			throw new OperationInProgressException("Contention", Duration.ofSeconds(1));
		}
		return this.store;
	}

	@Override
	public String name() {
		return "unreliable";
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return store(StoreCall.CLAIM).claim(request);
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		this.completions.add(claim.token());
		return store(StoreCall.COMPLETE).complete(claim, result);
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return store(StoreCall.FAIL).fail(claim, failure);
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return this.store.release(claim);
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return store(StoreCall.RENEW).renew(claim);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return store(StoreCall.FIND).find(key);
	}

	@Override
	public void ping() {
		store(StoreCall.FIND).ping();
	}

}
