package dev.idempotency.template;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * Logs what the store refuses, each combination of call and reason once a minute at most.
 */
final class RefusalLog {

	private static final Log logger = LogFactory.getLog(RefusalLog.class);

	private static final long INTERVAL = Duration.ofMinutes(1).toNanos();

	// There are as many as kinds of calls, SQL states and types of errors.
	private final Map<String, Long> logged = new ConcurrentHashMap<>();

	void refused(StoreCall call, IdempotencyStoreRefusedException refusal) {
		if (isDue(call + " " + kind(refusal), System.nanoTime())) {
			logger.warn(refusal.getMessage() + StoreErrors.reason(refusal));
		}
		logger.debug("Why the idempotency store has refused a call", refusal);
	}

	private static String kind(IdempotencyStoreRefusedException refusal) {
		String code = refusal.code();
		Throwable cause = refusal.getCause();
		return (code != null) ? code : (cause != null) ? cause.getClass().getName() : "";
	}

	private boolean isDue(String kind, long now) {
		return Objects.equals(this.logged.compute(kind,
				(same, last) -> (last == null || now - last >= INTERVAL) ? Long.valueOf(now) : last), now);
	}

}
