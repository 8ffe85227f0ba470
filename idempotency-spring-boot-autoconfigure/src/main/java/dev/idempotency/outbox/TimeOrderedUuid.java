package dev.idempotency.outbox;

import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Universally unique identifiers of version 7: 48 bits of Unix milliseconds, a counter of
 * 12 bits and 62 random bits. Within a process each is greater than all before it, by the
 * method "fixed bit-length dedicated counter" (method 1) of RFC 9562, section 6.2: the
 * counter starts anew at a random value below half of its range in each millisecond; when
 * it overflows, or the clock goes back, the time of the identifiers runs ahead of the
 * clock.
 *
 * @since 0.1.0
 */
public final class TimeOrderedUuid {

	private static final int COUNTER_BITS = 12;

	private static final int VERSION = 7;

	// Milliseconds and counter, one behind the other: an overflow carries over.
	private static final AtomicLong LAST = new AtomicLong();

	private TimeOrderedUuid() {
	}

	/**
	 * Create an identifier.
	 * @return one that is greater than all that this process has got before
	 */
	public static UUID next() {
		// Of SecureRandom: processes that start at the same moment must not meet.
		UUID random = UUID.randomUUID();
		long now = System.currentTimeMillis();
		long tick = LAST.updateAndGet((last) -> following(last, now, random.getMostSignificantBits()));
		// The other half has the variant already.
		return new UUID(layout(tick), random.getLeastSignificantBits());
	}

	static long following(long last, long now, long random) {
		long first = (now << COUNTER_BITS) | (random >>> (Long.SIZE - COUNTER_BITS + 1));
		// Not by the greater of both alone: a start below the counter would repeat it.
		return (now > (last >>> COUNTER_BITS)) ? first : last + 1;
	}

	static long layout(long tick) {
		long counter = tick & ((1 << COUNTER_BITS) - 1);
		return ((tick >>> COUNTER_BITS) << Short.SIZE) | ((long) VERSION << COUNTER_BITS) | counter;
	}

}
