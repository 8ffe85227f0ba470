package dev.idempotency.outbox;

import java.util.List;

/**
 * Messages that nobody else publishes while this claim is open.
 *
 * @since 0.1.0
 */
public interface OutboxClaim extends AutoCloseable {

	/**
	 * The messages, those with the same topic and key in their order.
	 * @return the messages; empty if there is nothing to do
	 */
	List<ClaimedRow> rows();

	/**
	 * Record what came of the messages, and end the claim. Those that are not mentioned
	 * stay as they are.
	 * @param published those that the broker has
	 * @param failures those that failed
	 */
	void settle(List<ClaimedRow> published, List<RelayFailure> failures);

	/**
	 * End the claim. Without {@link #settle} everything stays as it is.
	 */
	@Override
	void close();

}
