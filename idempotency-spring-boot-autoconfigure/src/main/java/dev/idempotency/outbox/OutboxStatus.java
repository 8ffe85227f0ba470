package dev.idempotency.outbox;

import java.time.Duration;

/**
 * What is in an outbox.
 *
 * @param pending messages that are to be published, {@value #MAX_COUNT} standing for that
 * many or more
 * @param oldest the age of the oldest of them, zero if there is none
 * @param setAside messages that have been set aside, {@value #MAX_COUNT} standing for
 * that many or more
 * @since 0.1.0
 */
public record OutboxStatus(long pending, Duration oldest, long setAside) {

	/**
	 * Counting ends here, so that it stays cheap.
	 */
	public static final int MAX_COUNT = 100_000;

}
