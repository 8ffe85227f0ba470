package dev.idempotency.listener;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Warns once for each reason, so that a stream of bad records does not flood the log.
 */
final class WarnOnce {

	private static final Log logger = LogFactory.getLog("dev.idempotency.listener");

	private static final int MAX_REASONS = 100;

	private final Set<String> told = ConcurrentHashMap.newKeySet();

	void warn(String reason, String message, @Nullable Throwable cause) {
		if (this.told.size() < MAX_REASONS && this.told.add(reason)) {
			logger.warn(message + " (logged at debug level from now on)", cause);
		}
		else if (logger.isDebugEnabled()) {
			logger.debug(message, cause);
		}
	}

}
