package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.IdempotencyListeners;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnEvictionPolicy;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.redis.RedisServerCheck;

/**
 * Checks the Redis servers while the application runs, if its store is in Redis. The
 * application may declare its store by the interface, so only the object tells.
 */
final class RedisServerCheckLifecycle implements SmartLifecycle {

	private final @Nullable RedisServerCheck check;

	RedisServerCheckLifecycle(ObjectProvider<IdempotencyStore> stores, IdempotencyProperties properties,
			ObjectProvider<IdempotencyListener> listeners) {
		this.check = (stores.getIfUnique() instanceof RedisIdempotencyStore store)
				? new RedisServerCheck(store, properties.redis().onEvictionPolicy() == OnEvictionPolicy.REFUSE,
						new IdempotencyListeners(listeners.orderedStream().toList()))
				: null;
	}

	@Override
	public void start() {
		if (this.check != null) {
			this.check.start();
		}
	}

	@Override
	public void stop() {
		if (this.check != null) {
			this.check.stop();
		}
	}

	@Override
	public boolean isRunning() {
		return this.check != null && this.check.isRunning();
	}

	@Override
	public int getPhase() {
		return RedisServerCheck.PHASE;
	}

}
