package dev.idempotency.outbox;

import java.time.Duration;

/**
 * A message that is to be published now.
 *
 * @param row the message
 * @param attempts how often it has been refused
 * @param age the time since it was sent when it was claimed, by the clock of the database
 * @param claimedAt when it was claimed, by {@link System#nanoTime()}
 * @since 0.1.0
 */
public record ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt) {

	Duration elapsed() {
		return this.age.plusNanos(System.nanoTime() - this.claimedAt);
	}

}
