package dev.idempotency.template;

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * A claim of leased mode and its state: running, then settling, then settled, lost or,
 * while the store is unavailable, pending. Only {@link Settlements} and {@link Leases}
 * change the state.
 */
final class OwnedClaim {

	private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

	// A settlement that fails so often right after another call has succeeded is refused.
	private static final int REFUSALS = 3;

	// Tries that follow each other at once would open the circuit breaker: they would be
	// too large a part of all calls.
	private static final Duration NEXT_TRY = Duration.ofMillis(500);

	private final IdempotentOperation operation;

	private final ClaimRequest request;

	private final ClaimedExecution execution;

	// Of a pending one only: most never are.
	private volatile @Nullable ReentrantLock lock;

	private volatile State state = State.RUNNING;

	private volatile long renewedAt;

	private volatile boolean renewedAlone;

	private volatile @Nullable Ending ending;

	private volatile @Nullable Consumer<Settlement> observer;

	private volatile long pendingSince;

	private volatile long triedAt;

	private volatile Duration pause = Duration.ZERO;

	private volatile int refusals;

	OwnedClaim(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long renewedAt) {
		this.operation = operation;
		this.request = request;
		this.execution = new ClaimedExecution(operation.key(), acquired);
		this.renewedAt = renewedAt;
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	/**
	 * Held while its pending settlement is retried.
	 * @return the lock
	 */
	ReentrantLock lock() {
		return Objects.requireNonNull(this.lock);
	}

	ClaimRequest request() {
		return this.request;
	}

	UUID token() {
		return this.request.token();
	}

	ClaimedExecution execution() {
		return this.execution;
	}

	boolean isRunning() {
		return this.state == State.RUNNING;
	}

	boolean isPending() {
		return this.state == State.PENDING;
	}

	/**
	 * Look up how the claim ended.
	 * @return how, {@code null} if it has not ended
	 */
	@Nullable Settlement outcome() {
		return switch (this.state) {
			case SETTLED -> Settlement.SETTLED;
			case LOST -> Settlement.LOST;
			default -> null;
		};
	}

	void renewed(long now) {
		this.renewedAt = now;
	}

	boolean isRenewedAlone() {
		return this.renewedAlone;
	}

	void renewAlone(boolean alone) {
		this.renewedAlone = alone;
	}

	// Whether a part of the lease has passed since its last renewal.
	boolean isOlder(long now, int part) {
		return now - this.renewedAt >= this.request.lease().toNanos() / part;
	}

	/**
	 * Begin to settle.
	 * @param how how the claim ends
	 */
	void settling(Ending how) {
		this.ending = how;
		this.state = State.SETTLING;
	}

	Ending ending() {
		return Objects.requireNonNull(this.ending, "It is not being settled");
	}

	boolean isCompletion() {
		Ending how = this.ending;
		return how != null && how.call() == StoreCall.COMPLETE;
	}

	// A store that has forgotten the key must learn of it again.
	boolean isWorthRestoring() {
		return isRunning() || isCompletion();
	}

	/**
	 * The store does not take the settlement now.
	 */
	void pending() {
		if (this.lock == null) {
			this.lock = new ReentrantLock();
		}
		this.pendingSince = System.nanoTime();
		this.triedAt = this.pendingSince;
		this.state = State.PENDING;
	}

	void ended(Settlement settlement) {
		this.state = (settlement == Settlement.SETTLED) ? State.SETTLED : State.LOST;
		if (this.state == State.LOST && !isRelease()) {
			this.execution.loseOwnership();
		}
	}

	void lose() {
		this.state = State.LOST;
		this.execution.loseOwnership();
	}

	boolean isRelease() {
		Ending how = this.ending;
		return how != null && how.call() == StoreCall.RELEASE;
	}

	/**
	 * Say who is notified if the settlement is pending and ends later.
	 * @param who who is notified, on any thread; must not run code of the application
	 */
	void whenPendingEnds(Consumer<Settlement> who) {
		this.observer = who;
	}

	void notifyObserver(Settlement settlement) {
		Consumer<Settlement> who = this.observer;
		if (who != null) {
			who.accept(settlement);
		}
	}

	UnrecordedCompletion unrecorded() {
		return new UnrecordedCompletion(this.operation.name(), this.operation.key(), age());
	}

	private Duration age() {
		return Duration.ofNanos(System.nanoTime() - this.pendingSince);
	}

	// The claim has expired by itself.
	boolean isPointless() {
		return isRelease() && age().compareTo(this.operation.lease()) > 0;
	}

	boolean isDue() {
		return System.nanoTime() - this.triedAt >= this.pause.toNanos();
	}

	/**
	 * The store answers other calls, so that this settlement is worth a try.
	 */
	void dueNow() {
		if (this.refusals < REFUSALS) {
			this.pause = (this.refusals == 0) ? Duration.ZERO : NEXT_TRY;
		}
	}

	// One that the store always refuses must not look like an outage all the time.
	void failed(boolean storeAnswers) {
		this.triedAt = System.nanoTime();
		this.refusals += storeAnswers ? 1 : 0;
		Duration longer = this.pause.isZero() ? Duration.ofSeconds(1) : this.pause.multipliedBy(2);
		this.pause = (longer.compareTo(LONGEST_PAUSE) > 0) ? LONGEST_PAUSE : longer;
	}

	OwnershipLostException lost(Throwable... cause) {
		this.execution.loseOwnership();
		return new OwnershipLostException("The claim expired while the handler was running, and another owner has the "
				+ "key now: " + this.operation + "; nothing of this execution is recorded. If the process or the store "
				+ "stood still for longer than the lease of " + this.operation.lease() + ", make the lease longer",
				(cause.length > 0) ? cause[0] : null);
	}

	@Override
	public String toString() {
		Ending how = this.ending;
		return (how != null) ? how.call().name().toLowerCase(Locale.ROOT) + " of " + this.operation
				: this.operation.toString();
	}

	/**
	 * How a claim ends.
	 *
	 * @param call the call of the store
	 * @param result of a completion, the result to replay
	 * @param failure of a failure, its description
	 */
	record Ending(StoreCall call, byte @Nullable [] result, @Nullable Failure failure) {

		static final Ending RELEASED = new Ending(StoreCall.RELEASE, null, null);

		static Ending completed(byte @Nullable [] result) {
			return new Ending(StoreCall.COMPLETE, result, null);
		}

		static Ending failed(Throwable error) {
			return new Ending(StoreCall.FAIL, null, Failure.of(error));
		}

	}

	private enum State {

		/**
		 * The handler is running, or its transaction has not ended.
		 */
		RUNNING,

		/**
		 * The store is asked to settle it.
		 */
		SETTLING,

		/**
		 * The store is unavailable; the settlement is retried.
		 */
		PENDING,

		/**
		 * The store has recorded how it ended.
		 */
		SETTLED,

		/**
		 * Another owner has the key.
		 */
		LOST

	}

}
