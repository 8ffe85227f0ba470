package dev.idempotency.redis;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Which servers may evict keys when their memory is full, and by which policy.
 *
 * @param evicting the policies by node, only of nodes that may evict keys
 * @param hidden whether a node does not let the user read its policy
 */
record EvictionPolicies(Map<String, String> evicting, boolean hidden) {

	static final EvictionPolicies NONE = new EvictionPolicies(Map.of(), false);

	private static final Log logger = LogFactory.getLog(EvictionPolicies.class);

	private static final Pattern LIMIT = Pattern.compile("^maxmemory:(\\d+)", Pattern.MULTILINE);

	private static final Pattern POLICY = Pattern.compile("^maxmemory_policy:([\\w-]+)", Pattern.MULTILINE);

	private static final String SECTION = "memory";

	/**
	 * Ask every node of a cluster, replicas included because a fail-over promotes them,
	 * or the one server that the connection leads to.
	 * @param commands the connection
	 * @param deadline when to stop
	 * @return the policies
	 */
	static EvictionPolicies read(RedisClusterAsyncCommands<byte[], byte[]> commands, Deadline deadline) {
		Map<String, Future<String>> asked = new TreeMap<>();
		if (commands instanceof RedisAdvancedClusterAsyncCommands<byte[], byte[]> cluster) {
			cluster.all().commands().info(SECTION).asMap().forEach((node, info) -> asked.put(address(node), info));
		}
		else {
			asked.put("", commands.info(SECTION));
		}
		Map<String, String> evicting = new TreeMap<>();
		boolean hidden = false;
		for (Map.Entry<String, Future<String>> info : asked.entrySet()) {
			hidden |= !add(evicting, info.getKey(), info.getValue(), deadline);
		}
		return new EvictionPolicies(evicting, hidden);
	}

	private static String address(RedisClusterNode node) {
		return node.getUri().getHost() + ":" + node.getUri().getPort();
	}

	// A node that does not answer has no say: CONFIG is often forbidden, INFO seldom.
	private static boolean add(Map<String, String> evicting, String node, Future<String> info, Deadline deadline) {
		try {
			String policy = policy(deadline.await(info));
			if (policy != null) {
				evicting.put(node, policy);
			}
			return true;
		}
		catch (ExecutionException | TimeoutException ex) {
			info.cancel(false);
			logger.debug("The memory policy of Redis " + node + " could not be read", ex);
			return !(ex.getCause() instanceof RedisCommandExecutionException refusal
					&& RequiredCommands.isRefusal(RequiredCommands.code(refusal)));
		}
	}

	private static @Nullable String policy(String info) {
		String limit = find(LIMIT, info);
		String policy = find(POLICY, info);
		return (limit != null && !limit.equals("0") && !"noeviction".equals(policy)) ? policy : null;
	}

	private static @Nullable String find(Pattern pattern, String info) {
		Matcher matcher = pattern.matcher(info);
		return matcher.find() ? matcher.group(1) : null;
	}

}
