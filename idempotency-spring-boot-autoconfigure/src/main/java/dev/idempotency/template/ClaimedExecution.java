package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;

/**
 * The execution of a handler whose key was claimed.
 */
final class ClaimedExecution implements IdempotentExecution {

	// A handler sends only a few types of events.
	private static final int TYPE_BYTES = 6;

	private final IdempotencyKey key;

	private final Claim.Acquired claim;

	private final AtomicInteger keys = new AtomicInteger();

	private volatile boolean ownershipLost;

	ClaimedExecution(IdempotencyKey key, Claim.Acquired claim) {
		this.key = key;
		this.claim = claim;
	}

	Claim.Acquired claim() {
		return this.claim;
	}

	@Override
	public String key() {
		return this.key.value();
	}

	@Override
	public String nextKey() {
		return key(this.keys.getAndIncrement());
	}

	@Override
	public String nextTransactionalKey(String topic, String type) {
		int number = this.keys.getAndIncrement();
		TransactionKeys.add(this, number);
		return key(number) + "-" + Fingerprint.text((topic + '\0' + type).getBytes(StandardCharsets.UTF_8), TYPE_BYTES);
	}

	private String key(int number) {
		return this.key.id() + "-" + number;
	}

	// A later key that was returned meanwhile may have been sent already.
	void putBack(int number) {
		this.keys.compareAndSet(number + 1, number);
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

}
