package dev.idempotency.outbox;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Whether the broker or the database answers a relay. While one does not, tries become
 * rare. People are told when it begins, and when something has been published again.
 */
final class Outage {

	private static final Log logger = LogFactory.getLog(Outage.class);

	private final String outbox;

	private final RelaySettings settings;

	private int failures;

	private boolean database;

	private long retryAt;

	Outage(String outbox, RelaySettings settings) {
		this.outbox = outbox;
		this.settings = settings;
	}

	boolean isOn() {
		return this.failures > 0;
	}

	boolean isOfBroker() {
		return isOn() && !this.database;
	}

	/**
	 * How long to leave the two alone.
	 * @return the time, zero or less if there is none
	 */
	Duration left() {
		return isOn() ? Duration.ofNanos(this.retryAt - System.nanoTime()) : Duration.ZERO;
	}

	Duration ofBroker(@Nullable Throwable error) {
		return failed(false, "gets no answer from the broker; messages wait, and the next try comes in ", error);
	}

	Duration ofDatabase(Throwable error) {
		return failed(true, "sends nothing. " + error.getMessage() + "; the next try comes in ", error);
	}

	private Duration failed(boolean database, String what, @Nullable Throwable error) {
		boolean news = !isOn() || this.database != database;
		this.database = database;
		Duration pause = pause();
		this.failures++;
		String sentence = "The relay of the outbox '" + this.outbox + "' " + what + pause.toMillis() + " ms";
		if (news) {
			logger.warn(sentence, error);
		}
		else {
			logger.debug(sentence, error);
		}
		return pause;
	}

	/**
	 * Leave the two alone for a while.
	 * @return for how long
	 */
	Duration pause() {
		Duration pause = this.settings.backOff(this.failures);
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
