package dev.idempotency.template;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Says once that the store went away and once that it is back, however many records wait:
 * it is back when it has answered, and failed at nothing, for a while.
 */
final class StoreAvailability {

	private static final Log logger = LogFactory.getLog(StoreAvailability.class);

	private static final Duration WHILE = Duration.ofSeconds(2);

	private final String store;

	private final String consequence;

	private final AtomicBoolean down = new AtomicBoolean();

	private volatile long failedAt;

	StoreAvailability(String store, boolean failOpen) {
		this.store = store;
		this.consequence = failOpen ? "records are processed without protection until it does, and counted"
				: "records wait until it does";
	}

	void answered() {
		if (this.down.get() && System.nanoTime() - this.failedAt > WHILE.toNanos()
				&& this.down.compareAndSet(true, false)) {
			logger.info("The idempotency store '" + this.store + "' answers again");
		}
	}

	void failed(Throwable error) {
		this.failedAt = System.nanoTime();
		if (!this.down.get() && this.down.compareAndSet(false, true)) {
			logger.warn("The idempotency store '" + this.store + "' does not answer; " + this.consequence + ": "
					+ error.getMessage() + StoreErrors.reason(error));
			logger.debug("Why the idempotency store '" + this.store + "' is unavailable", error);
		}
	}

}
