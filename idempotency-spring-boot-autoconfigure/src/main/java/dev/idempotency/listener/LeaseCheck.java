package dev.idempotency.listener;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Mode;

/**
 * Compares the lease of a listener with the time-out of the store. The lease has no lower
 * bound in the time that a handler takes, because a running handler renews it.
 */
final class LeaseCheck {

	private static final Log logger = LogFactory.getLog(LeaseCheck.class);

	private static final int TIMEOUTS = 5;

	private LeaseCheck() {
	}

	static void warn(ListenerSettings settings, Duration storeTimeout) {
		Duration least = storeTimeout.multipliedBy(TIMEOUTS);
		if (settings.mode() == Mode.LEASED && settings.lease().compareTo(least) < 0) {
			logger.warn("The lease of the idempotent listener " + settings.name() + ", "
					+ DurationSetting.text(settings.lease())
					+ ", is shorter than five times 'idempotency.store.timeout', " + DurationSetting.text(storeTimeout)
					+ ": a store that answers slowly renews it too late, and another consumer may process the record "
					+ "a second time. Set 'idempotency.lease', or 'lease' of @Idempotent, to "
					+ DurationSetting.text(least) + " or more, or shorten 'idempotency.store.timeout'");
		}
	}

}
