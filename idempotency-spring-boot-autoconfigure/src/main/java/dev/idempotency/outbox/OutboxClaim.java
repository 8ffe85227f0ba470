package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Messages that are reserved for one relay while this claim is open.
 *
 * @since 0.1.0
 */
public interface OutboxClaim extends AutoCloseable {

	/**
	 * The messages. Those with the same topic and key are in the order in which they were
	 * sent.
	 * @return the messages, empty if none is due
	 */
	List<ClaimedRow> rows();

	/**
	 * Record the outcomes and end the claim. Messages without an outcome stay unchanged.
	 * @param published messages that the broker has acknowledged
	 * @param failures messages that the broker has refused
	 */
	void settle(List<ClaimedRow> published, List<RelayFailure> failures);

	/**
	 * End the claim. Without {@link #settle} all messages stay unchanged.
	 */
	@Override
	void close();

	/**
	 * A message of a claim.
	 *
	 * @param row the message
	 * @param attempts number of refusals so far
	 * @param age time between sending and claiming the message, by the clock of the
	 * database
	 * @param claimedAt when the message was claimed, in {@link System#nanoTime()}
	 * @param undecodable why the row cannot be decoded, {@code null} if it can. The row
	 * then holds only the readable columns
	 */
	record ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt,
			@Nullable UndecodableMessageException undecodable) {

		/**
		 * Create a message whose row could be decoded.
		 * @param row the message
		 * @param attempts number of refusals so far
		 * @param age time between sending and claiming the message
		 * @param claimedAt when the message was claimed
		 */
		public ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt) {
			this(row, attempts, age, claimedAt, null);
		}

		Duration elapsed() {
			return this.age.plusNanos(System.nanoTime() - this.claimedAt);
		}

	}

	/**
	 * A message that could not be published.
	 *
	 * @param claimed the message
	 * @param attempts number of refusals, this one included
	 * @param error the reason
	 * @param retryAfter pause before the next attempt, {@code null} to make the message a
	 * dead letter
	 */
	record RelayFailure(ClaimedRow claimed, int attempts, Throwable error, @Nullable Duration retryAfter) {

	}

}
