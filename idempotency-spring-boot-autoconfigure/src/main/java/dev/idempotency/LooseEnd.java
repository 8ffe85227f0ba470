package dev.idempotency;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * A settlement that the store did not take.
 */
final class LooseEnd {

	private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

	private final StoreCall call;

	private final IdempotentOperation operation;

	private final Supplier<Settlement> settlement;

	private final Consumer<Settlement> madeUpFor;

	private final long since = System.nanoTime();

	private volatile long triedAt = this.since;

	private volatile Duration pause = Duration.ZERO;

	LooseEnd(StoreCall call, IdempotentOperation operation, Supplier<Settlement> settlement,
			Consumer<Settlement> madeUpFor) {
		this.call = call;
		this.operation = operation;
		this.settlement = settlement;
		this.madeUpFor = madeUpFor;
	}

	StoreCall call() {
		return this.call;
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	Supplier<Settlement> settlement() {
		return this.settlement;
	}

	Consumer<Settlement> madeUpFor() {
		return this.madeUpFor;
	}

	boolean isGiveBack() {
		return this.call == StoreCall.RELEASE;
	}

	boolean isCompletion() {
		return this.call == StoreCall.COMPLETE;
	}

	UnrecordedCompletion unrecorded() {
		return new UnrecordedCompletion(this.operation.name(), this.operation.key(),
				Duration.ofNanos(System.nanoTime() - this.since));
	}

	// The claim has run out by itself.
	boolean isPointless() {
		return isGiveBack() && System.nanoTime() - this.since > this.operation.lease().toNanos();
	}

	boolean isDue() {
		return System.nanoTime() - this.triedAt >= this.pause.toNanos();
	}

	// One that the store always refuses must not look like an outage all the time.
	void failed() {
		this.triedAt = System.nanoTime();
		Duration longer = this.pause.isZero() ? Duration.ofSeconds(1) : this.pause.multipliedBy(2);
		this.pause = (longer.compareTo(LONGEST_PAUSE) > 0) ? LONGEST_PAUSE : longer;
	}

	@Override
	public String toString() {
		return this.call.name().toLowerCase(Locale.ROOT) + " of " + this.operation;
	}

}
