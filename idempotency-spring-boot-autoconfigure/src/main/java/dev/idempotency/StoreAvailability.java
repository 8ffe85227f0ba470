package dev.idempotency;

import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.core.NestedExceptionUtils;

/**
 * Says once that the store went away and once that it is back, however many records wait.
 */
final class StoreAvailability {

	private static final Log logger = LogFactory.getLog(StoreAvailability.class);

	private final String store;

	private final String consequence;

	private final AtomicBoolean down = new AtomicBoolean();

	StoreAvailability(String store, boolean failOpen) {
		this.store = store;
		this.consequence = failOpen ? "records are processed without protection until it does, and counted"
				: "records wait until it does";
	}

	void answered() {
		if (this.down.get() && this.down.compareAndSet(true, false)) {
			logger.info("The idempotency store '" + this.store + "' answers again");
		}
	}

	void failed(Throwable error) {
		if (!this.down.get() && this.down.compareAndSet(false, true)) {
			logger.warn("The idempotency store '" + this.store + "' does not answer, or refuses what it is asked; "
					+ this.consequence + ": " + error.getMessage() + ": "
					+ NestedExceptionUtils.getMostSpecificCause(error));
			logger.debug("Why the idempotency store '" + this.store + "' is unavailable", error);
		}
	}

}
