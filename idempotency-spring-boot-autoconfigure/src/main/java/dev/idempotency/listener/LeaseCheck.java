package dev.idempotency.listener;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Mode;

/**
 * Compares the lease of a listener with what Kafka allows its consumers.
 */
final class LeaseCheck {

	private static final Log logger = LogFactory.getLog(LeaseCheck.class);

	private LeaseCheck() {
	}

	// A shorter one needs no word: running handlers renew theirs.
	static void warn(ListenerSettings settings, ConsumerSettings consumers) {
		if (settings.mode() == Mode.LEASED && settings.lease().compareTo(consumers.maxPollInterval()) > 0) {
			logger.warn("The lease of the idempotent listener " + settings.name() + ", " + settings.lease()
					+ ", is longer than 'max.poll.interval.ms' of its consumer, " + consumers.maxPollInterval()
					+ ": the records of a process that dies wait until its leases have run out, longer than Kafka "
					+ "would wait for a silent consumer. Make 'idempotency.lease', or 'lease' of @Idempotent, shorter; "
					+ "it need not cover the time of a handler, because running handlers renew theirs");
		}
	}

}
