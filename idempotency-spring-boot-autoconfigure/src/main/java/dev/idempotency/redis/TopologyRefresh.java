package dev.idempotency.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Lets a cluster client look for its nodes after a failure: by default it does so only at
 * its start, and would ask a node that is gone for ever.
 */
final class TopologyRefresh {

	private static final Log logger = LogFactory.getLog(TopologyRefresh.class);

	private static final long INTERVAL = TimeUnit.SECONDS.toNanos(1);

	private final AtomicLong next = new AtomicLong(System.nanoTime());

	void request(@Nullable AbstractRedisClient client) {
		long now = System.nanoTime();
		long due = this.next.get();
		if (client instanceof RedisClusterClient cluster && now - due >= 0
				&& this.next.compareAndSet(due, now + INTERVAL)) {
			cluster.refreshPartitionsAsync().whenComplete((done, error) -> {
				if (error != null) {
					logger.debug("The topology of the Redis cluster could not be read", error);
				}
			});
		}
	}

}
