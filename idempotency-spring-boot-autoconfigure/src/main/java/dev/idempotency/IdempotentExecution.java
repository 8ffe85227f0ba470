package dev.idempotency;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * The execution that the current handler runs under.
 *
 * @since 0.1.0
 */
public final class IdempotentExecution {

	private static final ThreadLocal<@Nullable List<@Nullable IdempotentExecution>> CURRENT = new ThreadLocal<>();

	// One handler sends few kinds of events.
	private static final int KIND_BYTES = 6;

	private final IdempotencyKey key;

	private final Claim.Acquired claim;

	private final AtomicInteger keys = new AtomicInteger();

	private volatile boolean ownershipLost;

	IdempotentExecution(IdempotencyKey key, Claim.Acquired claim) {
		this.key = key;
		this.claim = claim;
	}

	/**
	 * Describe an operation that has completed and is processed again.
	 * @param operation the operation
	 * @param store where its key is completed
	 * @param calls calls the store
	 * @return an execution with the fence and the attempt of the last claim
	 */
	static IdempotentExecution again(IdempotentOperation operation, IdempotencyStore store, StoreCalls calls) {
		Claim.Acquired last = calls.call(StoreCall.FIND, operation, () -> store.find(operation.key()))
			.map((record) -> new Claim.Acquired(record.fence(), record.attempt()))
			.orElse(new Claim.Acquired(1, 1));
		return new IdempotentExecution(operation.key(), last);
	}

	/**
	 * The execution of the handler that runs on this thread. An asynchronous handler asks
	 * before it leaves the thread.
	 * @return the execution
	 * @throws IllegalStateException if no protected handler, or that of a batch, runs on
	 * this thread
	 */
	public static IdempotentExecution current() {
		Assert.state(CURRENT.get() != null, "No idempotent execution runs on this thread");
		IdempotentExecution only = ifCurrent();
		Assert.state(only != null, "A batch runs on this thread; use currentBatch()");
		return only;
	}

	/**
	 * The execution of the handler that runs on this thread, if it is a protected one.
	 * @return the execution; {@code null} if no protected handler, or that of a batch,
	 * runs on this thread
	 */
	public static @Nullable IdempotentExecution ifCurrent() {
		List<@Nullable IdempotentExecution> current = CURRENT.get();
		return (current != null && current.size() == 1) ? current.get(0) : null;
	}

	/**
	 * The executions of the batch that the handler on this thread has got.
	 * @return an execution for each record, in the order in which the handler sees them;
	 * {@code null} for a record that is handled without protection
	 * @throws IllegalStateException if no protected handler runs on this thread
	 */
	public static List<@Nullable IdempotentExecution> currentBatch() {
		List<@Nullable IdempotentExecution> current = CURRENT.get();
		Assert.state(current != null, "No idempotent execution runs on this thread");
		return current;
	}

	Claim.Acquired claim() {
		return this.claim;
	}

	static @Nullable List<@Nullable IdempotentExecution> bind(
			@Nullable List<@Nullable IdempotentExecution> executions) {
		List<@Nullable IdempotentExecution> previous = CURRENT.get();
		// Removing it would make the thread allocate an entry for each record.
		CURRENT.set(executions);
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
	 * The idempotency key of the next message that the handler sends: a hash over scope
	 * and key, and how many keys this execution has asked for before. Another execution
	 * of the same operation, as after a failure, gets the same keys in the same order, so
	 * that the receivers see duplicates; another scope gets other keys.
	 * <p>
	 * This is right only for a handler that sends the same messages in the same order
	 * each time. If one does not, another message may get the key of an earlier one and
	 * be taken for its duplicate: give such messages keys of their own.
	 * @return the key, much shorter than {@link IdempotencyKey#MAX_LENGTH}
	 */
	public String nextKey() {
		return key(this.keys.getAndIncrement());
	}

	/**
	 * The idempotency key of the next message that is sent if the current transaction
	 * commits: the {@link #nextKey() next key}, followed by a hash over topic and type,
	 * so that an event of another type is never taken for a duplicate of this one. If the
	 * transaction rolls back, nothing has been sent, and the next message gets the number
	 * of this one: a handler that tries its transaction again gives its messages the keys
	 * that they have without a failure. The same applies when the outcome of the commit
	 * is unknown.
	 * @param topic the topic of the message
	 * @param type the type of the event
	 * @return the key, much shorter than {@link IdempotencyKey#MAX_LENGTH}
	 */
	public String nextTransactionalKey(String topic, String type) {
		int number = this.keys.getAndIncrement();
		TransactionKeys.add(this, number);
		return key(number) + "-" + Fingerprint.text((topic + '\0' + type).getBytes(StandardCharsets.UTF_8), KIND_BYTES);
	}

	private String key(int number) {
		return this.key.id() + "-" + number;
	}

	// Not if somebody has asked for a later one, who may have sent it.
	void putBack(int number) {
		this.keys.compareAndSet(number + 1, number);
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
