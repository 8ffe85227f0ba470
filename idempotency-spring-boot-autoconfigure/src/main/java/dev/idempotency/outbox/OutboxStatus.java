package dev.idempotency.outbox;

import java.time.Duration;

/**
 * What is in an outbox.
 *
 * @param pending messages that are to be published, {@value #MAX_COUNT} standing for that
 * many or more
 * @param oldest the age of the oldest message that is to be published or waits for one
 * that is set aside, zero if there is none
 * @param setAside messages that have been set aside, {@value #MAX_COUNT} standing for
 * that many or more
 * @param blocked messages that wait because an earlier one with their topic and key is
 * set aside, {@value #MAX_COUNT} standing for that many or more
 * @since 0.1.0
 */
public record OutboxStatus(long pending, Duration oldest, long setAside, long blocked) {

	/**
	 * Counting ends here, so that it stays cheap.
	 */
	public static final int MAX_COUNT = 100_000;

}
