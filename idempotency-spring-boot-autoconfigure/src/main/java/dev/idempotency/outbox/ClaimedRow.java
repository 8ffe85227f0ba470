package dev.idempotency.outbox;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * A message that is to be published now.
 *
 * @param row the message
 * @param attempts how often it has been refused
 * @param age the time since it was sent when it was claimed, by the clock of the database
 * @param claimedAt when it was claimed, by {@link System#nanoTime()}
 * @param undecodable why it can never be published, {@code null} for a message in order.
 * The other components then hold as much of the row as can be read
 * @since 0.1.0
 */
public record ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt,
		@Nullable UndecodableMessageException undecodable) {

	/**
	 * Create a message in order.
	 * @param row the message
	 * @param attempts how often it has been refused
	 * @param age the time since it was sent when it was claimed
	 * @param claimedAt when it was claimed
	 */
	public ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt) {
		this(row, attempts, age, claimedAt, null);
	}

	Duration elapsed() {
		return this.age.plusNanos(System.nanoTime() - this.claimedAt);
	}

}
