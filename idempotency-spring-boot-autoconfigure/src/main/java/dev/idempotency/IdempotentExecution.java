package dev.idempotency;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

/**
 * The execution that the current handler runs under.
 *
 * @since 0.1.0
 */
public final class IdempotentExecution {

	private static final ThreadLocal<@Nullable IdempotentExecution> CURRENT = new ThreadLocal<>();

	private final IdempotencyKey key;

	private final Claim.Acquired claim;

	private volatile boolean ownershipLost;

	IdempotentExecution(IdempotencyKey key, Claim.Acquired claim) {
		this.key = key;
		this.claim = claim;
	}

	/**
	 * The execution of the handler that runs on this thread.
	 * @return the execution
	 * @throws IllegalStateException if no protected handler runs on this thread
	 */
	public static IdempotentExecution current() {
		IdempotentExecution current = CURRENT.get();
		Assert.state(current != null, "No idempotent execution runs on this thread");
		return current;
	}

	static @Nullable IdempotentExecution bind(@Nullable IdempotentExecution execution) {
		IdempotentExecution previous = CURRENT.get();
		// Removing it would make the thread allocate an entry for each record.
		CURRENT.set(execution);
		return previous;
	}

	/**
	 * The idempotency key, to be passed on to what the handler calls.
	 * @return the key without its scope
	 */
	public String key() {
		return this.key.value();
	}

	/**
	 * The scope that the key belongs to.
	 * @return the scope
	 */
	public String scope() {
		return this.key.scope();
	}

	/**
	 * How often the operation has been started, this time included.
	 * @return 1 for the first attempt
	 */
	public int attempt() {
		return this.claim.attempt();
	}

	/**
	 * The fencing token: it grows with every claim of the key for as long as the store
	 * remembers the key, so that a system behind the handler can refuse the writes of an
	 * older claim.
	 * @return the fence number
	 */
	public int fence() {
		return this.claim.fence();
	}

	/**
	 * Whether the store is known to have given the key to another owner. {@code false} is
	 * no guarantee: a lease that has just run out shows only at the next call of the
	 * store.
	 * @return whether ownership is known to be lost
	 */
	public boolean ownershipLost() {
		return this.ownershipLost;
	}

	void loseOwnership() {
		this.ownershipLost = true;
	}

}
