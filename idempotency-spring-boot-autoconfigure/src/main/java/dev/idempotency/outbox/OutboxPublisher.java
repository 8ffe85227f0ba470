package dev.idempotency.outbox;

import java.util.concurrent.CompletionStage;

/**
 * Sends stored messages to the broker.
 *
 * @since 0.1.0
 */
public interface OutboxPublisher {

	/**
	 * Send a message, without waiting for the broker's acknowledgement; it may block
	 * while the broker is asked about the topic. Never throws: a failure completes the
	 * result. Called by the relay's thread only.
	 * @param row the message
	 * @return completed when the broker has it and its replicas, or exceptionally; within
	 * {@link RelaySettings#sendTimeout()}
	 */
	CompletionStage<?> publish(OutboxRow row);

	/**
	 * Results of {@link #publish} have not been completed in time: whatever sends the
	 * messages may be dead. Called by the relay's thread only.
	 */
	default void silent() {
	}

	/**
	 * What a failure means.
	 * @param error what the result of {@link #publish} was completed with
	 * @return the meaning
	 */
	Failed meaning(Throwable error);

	/**
	 * The meaning of a failure.
	 */
	enum Failed {

		/**
		 * The broker refuses this message.
		 */
		REFUSED,

		/**
		 * The broker refuses whatever is sent to this topic.
		 */
		TOPIC_REFUSED,

		/**
		 * The message failed with another one of the same batch, which the broker
		 * refuses. It is sent again in the next round.
		 */
		NEIGHBOUR,

		/**
		 * The broker does not answer, or not now.
		 */
		UNAVAILABLE

	}

}
