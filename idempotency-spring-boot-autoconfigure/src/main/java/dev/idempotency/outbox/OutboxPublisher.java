package dev.idempotency.outbox;

import java.util.concurrent.CompletionStage;

/**
 * Sends stored messages to the broker. Only the thread of the relay calls it.
 *
 * @since 0.1.0
 */
public interface OutboxPublisher {

	/**
	 * Send a message without waiting for the acknowledgement of the broker. The call may
	 * block while the producer fetches the metadata of the topic. It never throws: a
	 * failure completes the result.
	 * @param row the message
	 * @return a result that completes when the broker and its replicas have the message,
	 * or exceptionally, within {@link OutboxRelay.Settings#sendTimeout()}
	 */
	CompletionStage<?> publish(OutboxRow row);

	/**
	 * Results of {@link #publish} are overdue: the producer may be broken.
	 */
	default void resultsOverdue() {
	}

	/**
	 * Classify a failure.
	 * @param error the exception with which a result of {@link #publish} has completed
	 * @return the kind of the failure
	 */
	FailureKind kindOf(Throwable error);

	/**
	 * The kind of a failure to publish a message.
	 */
	enum FailureKind {

		/**
		 * The broker refuses this message.
		 */
		REFUSED,

		/**
		 * The broker refuses all messages to this topic.
		 */
		TOPIC_REFUSED,

		/**
		 * The broker refuses another message of the same producer batch. This message is
		 * sent again in the next round.
		 */
		NEIGHBOUR,

		/**
		 * The broker does not answer, or cannot accept the message now.
		 */
		UNAVAILABLE

	}

}
