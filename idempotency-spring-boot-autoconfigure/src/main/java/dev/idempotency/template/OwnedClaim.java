package dev.idempotency.template;

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * A claim of leased mode and its state: running, then settling, then settled, lost or,
 * while the store is unavailable, pending. Only {@link Settlements} and {@link Leases}
 * change the state.
 */
final class OwnedClaim {

	private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

	// The number of failed retries after which a settlement counts as refused, because
	// other calls succeed.
	private static final int REFUSALS = 3;

	// Without a pause the failed retries would be a large part of all calls, and would
	// open the circuit breaker.
	private static final Duration RETRY_PAUSE = Duration.ofMillis(500);

	private final IdempotentOperation operation;

	private final ClaimRequest request;

	private final ClaimedExecution execution;

	// Created when the claim becomes pending, which most claims never do.
	private volatile @Nullable ReentrantLock lock;

	private final long claimedAt;

	private volatile long renewedAt;

	private volatile boolean renewedAlone;

	// The following two are set by the thread that settles, before the kind of the
	// settlement.
	private byte @Nullable [] result;

	private @Nullable Failure failure;

	private volatile @Nullable StoreCall ending;

	private volatile @Nullable Settlement outcome;

	private volatile @Nullable Consumer<Settlement> lateObserver;

	private volatile long pendingSince;

	private volatile long triedAt;

	private volatile Duration pause = Duration.ZERO;

	private volatile int refusals;

	OwnedClaim(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long claimedAt) {
		this.operation = operation;
		this.request = request;
		this.execution = new ClaimedExecution(operation.key(), acquired);
		this.claimedAt = claimedAt;
		this.renewedAt = claimedAt;
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	ReentrantLock lock() {
		return Objects.requireNonNull(this.lock);
	}

	ClaimRequest request() {
		return this.request;
	}

	ClaimedExecution execution() {
		return this.execution;
	}

	boolean isRunning() {
		return this.ending == null && this.outcome == null;
	}

	boolean isPending() {
		return this.lock != null && this.outcome == null;
	}

	boolean isEnded() {
		return this.outcome != null;
	}

	boolean isLost() {
		return this.outcome == Settlement.LOST;
	}

	void markRenewed(long now) {
		this.renewedAt = now;
	}

	boolean isRenewedAlone() {
		return this.renewedAlone;
	}

	void setRenewedAlone(boolean alone) {
		this.renewedAlone = alone;
	}

	// Whether a fraction of the lease has passed since its last renewal.
	boolean hasPassed(long now, int divisor) {
		return now - this.renewedAt >= this.request.lease().toNanos() / divisor;
	}

	// Whether less than a fraction of the lease has passed since the claim.
	boolean isYoungerThan(int divisor) {
		return System.nanoTime() - this.claimedAt < this.request.lease().toNanos() / divisor;
	}

	byte @Nullable [] result() {
		return this.result;
	}

	Completion completion() {
		return new Completion(this.request, this.result);
	}

	void setResult(byte @Nullable [] result) {
		this.result = result;
	}

	Failure failure() {
		return Objects.requireNonNull(this.failure);
	}

	void setFailure(Failure failure) {
		this.failure = failure;
	}

	void beginSettling(StoreCall how) {
		this.ending = how;
		this.outcome = null;
	}

	StoreCall ending() {
		return Objects.requireNonNull(this.ending, "The claim is not being settled");
	}

	boolean isCompletion() {
		return this.ending == StoreCall.COMPLETE;
	}

	// Without a record in the store another consumer could claim the key.
	boolean isWorthRestoring() {
		return isRunning() || (isCompletion() && !isEnded());
	}

	// Keep the settlement for a retry, because the store is unavailable.
	void beginPending() {
		this.pendingSince = System.nanoTime();
		this.triedAt = this.pendingSince;
		// Another thread may hold the lock.
		this.lock = (this.lock != null) ? this.lock : new ReentrantLock();
	}

	void end(Settlement settlement) {
		this.outcome = settlement;
		if (settlement == Settlement.LOST && !isRelease()) {
			this.execution.loseOwnership();
		}
	}

	boolean isRelease() {
		return this.ending == StoreCall.RELEASE;
	}

	// Set the observer of a settlement that becomes pending and ends later.
	void setLateObserver(Consumer<Settlement> observer) {
		this.lateObserver = observer;
	}

	void notifyLateObserver(Settlement settlement) {
		Consumer<Settlement> observer = this.lateObserver;
		if (observer != null) {
			observer.accept(settlement);
		}
	}

	// The time since the settlement was first tried.
	Duration age() {
		return Duration.ofNanos(System.nanoTime() - this.pendingSince);
	}

	// An expired claim need not be released.
	boolean isExpiredRelease() {
		return isRelease() && age().compareTo(this.operation.lease()) > 0;
	}

	boolean isRetryDue() {
		return System.nanoTime() - this.triedAt >= this.pause.toNanos();
	}

	// Make the retry due, because other calls of the store succeed.
	void makeRetryDue() {
		if (this.refusals < REFUSALS) {
			this.pause = (this.refusals == 0) ? Duration.ZERO : RETRY_PAUSE;
		}
	}

	// A settlement that the store always refuses must not count as repeated outages.
	void retryFailed(boolean storeAnswers) {
		this.triedAt = System.nanoTime();
		this.refusals += storeAnswers ? 1 : 0;
		Duration longer = this.pause.isZero() ? Duration.ofSeconds(1) : this.pause.multipliedBy(2);
		this.pause = (longer.compareTo(LONGEST_PAUSE) > 0) ? LONGEST_PAUSE : longer;
	}

	OperationLostException lost(@Nullable Throwable cause) {
		return new OperationLostException(
				loss() + ". This execution is not recorded. If the process or the store paused "
						+ "for longer than the lease, increase the lease",
				cause);
	}

	String loss() {
		return "Another owner has the key now, because the lease of " + this.operation.lease()
				+ " expired or its record was removed from the store: " + this.operation;
	}

	@Override
	public String toString() {
		StoreCall how = this.ending;
		return ((how != null) ? how.name().toLowerCase(Locale.ROOT) + " of " : "") + this.operation;
	}

}
