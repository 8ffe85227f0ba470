package dev.idempotency.outbox;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * What the producer has told.
 *
 * @param claimed the message
 * @param error why it failed, {@code null} if the broker has it
 * @param elapsed the time since the message was sent; a round may go on long after that
 */
record Ack(ClaimedRow claimed, @Nullable Throwable error, Duration elapsed) {

	static Ack of(ClaimedRow claimed, @Nullable Throwable error) {
		return new Ack(claimed, error, claimed.elapsed());
	}

	Throwable requiredError() {
		return (this.error != null) ? this.error : new IllegalStateException();
	}

}
