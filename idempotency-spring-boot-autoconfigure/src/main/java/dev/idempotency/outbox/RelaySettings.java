package dev.idempotency.outbox;

import java.time.Duration;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * How a relay works.
 *
 * @param batchSize how many messages it claims at once, about
 * @param pollInterval the longest time between two looks at the outbox
 * @param sendTimeout how long the broker may take for a message, 100 ms to 2 minutes
 * @param maxAttempts how often the broker may refuse a message before it is set aside
 * @param maxBackOff the longest time between two tries, while the broker does not answer
 * and after a refusal
 * @param stopTimeout how long a relay that is stopped goes on with messages that were
 * sent before; with zero it only waits for the answers to those on their way
 * @since 0.1.0
 */
public record RelaySettings(int batchSize, Duration pollInterval, Duration sendTimeout, int maxAttempts,
		Duration maxBackOff, Duration stopTimeout) {

	private static final Duration MIN_BACK_OFF = Duration.ofMillis(250);

	// The database ends a claim that lasts for three minutes.
	private static final Duration MAX_SEND_TIMEOUT = Duration.ofMinutes(2);

	private static final int MAX_DOUBLINGS = 16;

	public RelaySettings {
		check(batchSize >= 1 && batchSize <= 10_000, "claims " + batchSize + " messages at once", "batch-size",
				"1 to 10000");
		check(pollInterval.toMillis() > 0, "looks at it every " + pollInterval, "poll-interval",
				"a millisecond or more");
		check(sendTimeout.toMillis() >= 100 && sendTimeout.compareTo(MAX_SEND_TIMEOUT) <= 0,
				"gives the broker " + sendTimeout + " for a message", "send-timeout", "100 ms to 2 minutes");
		check(maxAttempts > 0, "sets messages aside after " + maxAttempts + " refusals", "max-attempts", "1 or more");
		check(maxBackOff.compareTo(MIN_BACK_OFF) >= 0, "waits " + maxBackOff + " at most for its next try",
				"max-back-off", "250 ms or more");
		check(!stopTimeout.isNegative(), "goes on for " + stopTimeout + " when it is stopped", "stop-timeout",
				"zero or more");
	}

	private static void check(boolean condition, String what, String property, String range) {
		if (!condition) {
			throw new IdempotencyConfigurationException("The relay of the outbox " + what + ".",
					"Set 'idempotency.outbox." + property + "' to " + range + ".");
		}
	}

	// Twice as long after each failure.
	Duration backOff(int failures) {
		Duration doubled = MIN_BACK_OFF.multipliedBy(1L << Math.min(Math.max(failures, 0), MAX_DOUBLINGS));
		return (doubled.compareTo(this.maxBackOff) < 0) ? doubled : this.maxBackOff;
	}

}
