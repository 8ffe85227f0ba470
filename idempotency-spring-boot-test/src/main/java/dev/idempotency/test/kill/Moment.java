package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.Random;

/**
 * The moment of an interruption, in terms of the pending work: either some time after the
 * first work has become pending, or when a part of the work is done after all has been
 * sent.
 */
final class Moment {

	private static final int MAX_DELAY_MILLIS = 1500;

	private final boolean whileSending;

	private final Duration delay;

	private final double fraction;

	private long first;

	private long peak;

	private Moment(boolean whileSending, Duration delay, double fraction) {
		this.whileSending = whileSending;
		this.delay = delay;
		this.fraction = fraction;
	}

	static Moment random(Random random) {
		return new Moment(random.nextBoolean(), Duration.ofMillis(random.nextInt(MAX_DELAY_MILLIS)),
				random.nextDouble(0.4, 0.95));
	}

	boolean hasCome(boolean sent, long pending) {
		this.peak = Math.max(this.peak, pending);
		if (pending <= 0) {
			return false;
		}
		if (this.first == 0) {
			this.first = System.nanoTime();
		}
		return this.whileSending ? System.nanoTime() - this.first >= this.delay.toNanos()
				: sent && pending <= this.peak * this.fraction;
	}

}
