package dev.idempotency.outbox;

import java.time.Duration;
import java.util.function.IntFunction;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * An outage of the broker or of the database, as a relay sees it. The pauses between
 * attempts grow while it lasts. Its beginning and its end are logged.
 */
final class Outage {

	private static final Log logger = LogFactory.getLog(Outage.class);

	private final String outbox;

	private final IntFunction<Duration> backOff;

	private int failures;

	private boolean database;

	private long retryAt;

	/**
	 * Create an outage that has not begun.
	 * @param outbox the name of the table
	 * @param backOff the pause after a number of failures
	 */
	Outage(String outbox, IntFunction<Duration> backOff) {
		this.outbox = outbox;
		this.backOff = backOff;
	}

	boolean isOn() {
		return this.failures > 0;
	}

	boolean isOfBroker() {
		return isOn() && !this.database;
	}

	/**
	 * The rest of the pause before the next attempt.
	 * @return the rest, zero or less if an attempt is due
	 */
	Duration left() {
		return isOn() ? Duration.ofNanos(this.retryAt - System.nanoTime()) : Duration.ZERO;
	}

	Duration ofBroker(@Nullable Throwable error) {
		return fail(false, "gets no answer from the broker", error);
	}

	Duration ofDatabase(Throwable error) {
		return fail(true, "cannot use its database (" + error.getMessage() + ")", error);
	}

	private Duration fail(boolean database, String problem, @Nullable Throwable error) {
		boolean isNew = !isOn() || this.database != database;
		this.database = database;
		Duration pause = pause();
		this.failures++;
		String message = "The relay of the outbox '" + this.outbox + "' " + problem
				+ ". No messages are published; the next attempt is in " + pause.toMillis() + " ms";
		if (isNew) {
			logger.warn(message, error);
		}
		else {
			logger.debug(message, error);
		}
		return pause;
	}

	/**
	 * Begin a pause.
	 * @return its length
	 */
	Duration pause() {
		Duration pause = this.backOff.apply(this.failures);
		this.retryAt = System.nanoTime() + pause.toNanos();
		return pause;
	}

	void end() {
		if (isOn()) {
			logger.info("The relay of the outbox '" + this.outbox + "' works again");
			this.failures = 0;
		}
	}

}
