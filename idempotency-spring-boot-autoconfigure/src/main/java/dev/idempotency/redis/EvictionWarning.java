package dev.idempotency.redis;

import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Warns of a server that forgets keys when its memory is full.
 */
final class EvictionWarning {

	private static final Log logger = LogFactory.getLog(EvictionWarning.class);

	private static final Pattern LIMIT = Pattern.compile("^maxmemory:(\\d+)", Pattern.MULTILINE);

	private static final Pattern POLICY = Pattern.compile("^maxmemory_policy:([\\w-]+)", Pattern.MULTILINE);

	private EvictionWarning() {
	}

	// Not awaited: nothing depends on it. CONFIG is often forbidden, INFO seldom.
	static CompletionStage<?> check(RedisClusterAsyncCommands<byte[], byte[]> commands) {
		return commands.info("memory").whenComplete((info, error) -> {
			if (error != null) {
				logger.debug("The memory policy of Redis could not be read", error);
			}
			else {
				warn(find(LIMIT, info), find(POLICY, info));
			}
		});
	}

	private static void warn(@Nullable String limit, @Nullable String policy) {
		if (limit != null && !limit.equals("0") && policy != null && !policy.equals("noeviction")) {
			logger.warn("Redis has the memory policy '" + policy + "', so it forgets idempotency records before their "
					+ "retention ends when its memory is full, and their operations run again; set 'maxmemory-policy' to "
					+ "'noeviction'");
		}
	}

	private static @Nullable String find(Pattern pattern, String info) {
		Matcher matcher = pattern.matcher(info);
		return matcher.find() ? matcher.group(1) : null;
	}

}
