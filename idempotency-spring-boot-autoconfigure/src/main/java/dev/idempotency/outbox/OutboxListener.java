package dev.idempotency.outbox;

import java.time.Duration;

/**
 * Callbacks for what happens to the messages of an outbox. They run on the threads of the
 * relay and of the observer and should be quick; what they throw is logged and ignored.
 *
 * @since 0.1.0
 */
public interface OutboxListener {

	/**
	 * A message was given to the broker, and what came of it has been recorded. One whose
	 * record failed is told when it is published again.
	 * @param row the message, whose payload and headers do not belong in a log
	 * @param outcome what came of it
	 * @param duration the time since it was sent, by its row
	 */
	default void attempted(OutboxRow row, Outcome outcome, Duration duration) {
	}

	/**
	 * Somebody has looked at the outbox.
	 * @param status what is in it
	 */
	default void observed(OutboxStatus status) {
	}

	/**
	 * What came of a message.
	 */
	enum Outcome {

		/**
		 * The broker has it.
		 */
		PUBLISHED,

		/**
		 * The broker has refused it; it will be tried again.
		 */
		REFUSED,

		/**
		 * The broker has refused it once too often; it is set aside.
		 */
		SET_ASIDE,

		/**
		 * The broker did not answer; it will be tried again.
		 */
		UNAVAILABLE

	}

}
