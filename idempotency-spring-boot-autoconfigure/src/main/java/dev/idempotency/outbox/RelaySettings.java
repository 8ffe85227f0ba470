package dev.idempotency.outbox;

import java.time.Duration;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The settings of a relay.
 *
 * @param batchSize approximate number of messages that the relay claims at once, 1 to
 * 10000
 * @param pollInterval longest time between two claims
 * @param sendTimeout time-out for the publication of a message, 100 ms to 2 minutes
 * @param maxAttempts number of refusals after which a message becomes a dead letter
 * @param maxBackOff longest pause between two attempts, during an outage and after a
 * refusal; 250 ms or more
 * @param stopTimeout how long a relay that is stopped publishes messages that were sent
 * before; with zero it only waits for the answers to messages in flight
 * @since 0.1.0
 */
public record RelaySettings(int batchSize, Duration pollInterval, Duration sendTimeout, int maxAttempts,
		Duration maxBackOff, Duration stopTimeout) {

	private static final Duration MIN_BACK_OFF = Duration.ofMillis(250);

	// The database ends the transaction of a claim after three minutes.
	private static final Duration MAX_SEND_TIMEOUT = Duration.ofMinutes(2);

	private static final int MAX_DOUBLINGS = 16;

	public RelaySettings {
		check(batchSize >= 1 && batchSize <= 10_000, "batch-size", batchSize, "1 to 10000");
		check(pollInterval.toMillis() > 0, "poll-interval", pollInterval, "a millisecond or more");
		check(sendTimeout.toMillis() >= 100 && sendTimeout.compareTo(MAX_SEND_TIMEOUT) <= 0, "send-timeout",
				sendTimeout, "100 ms to 2 minutes");
		check(maxAttempts > 0, "max-attempts", maxAttempts, "1 or more");
		check(maxBackOff.compareTo(MIN_BACK_OFF) >= 0, "max-back-off", maxBackOff, "250 ms or more");
		check(!stopTimeout.isNegative(), "stop-timeout", stopTimeout, "zero or more");
	}

	private static void check(boolean condition, String property, Object value, String range) {
		if (!condition) {
			throw new IdempotencyConfigurationException("'idempotency.outbox." + property + "' is " + value + ".",
					"Set 'idempotency.outbox." + property + "' to " + range + ".");
		}
	}

	// Doubles with each failure.
	Duration backOff(int failures) {
		Duration doubled = MIN_BACK_OFF.multipliedBy(1L << Math.min(Math.max(failures, 0), MAX_DOUBLINGS));
		return (doubled.compareTo(this.maxBackOff) < 0) ? doubled : this.maxBackOff;
	}

}
