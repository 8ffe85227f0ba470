package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;

import dev.idempotency.autoconfigure.IdempotencyProperties.OnEvictionPolicy;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.redis.RedisServerCheck;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;

/**
 * Checks the Redis servers while the application runs, if its store is in Redis. The
 * application may declare its store by the interface, so only the object tells.
 */
final class RedisServerCheckLifecycle implements SmartLifecycle {

	private final @Nullable RedisServerCheck check;

	RedisServerCheckLifecycle(ObjectProvider<IdempotencyStore> stores, IdempotencyProperties properties,
			ObjectProvider<IdempotencyListener> listeners) {
		IdempotencyListener listener = new IdempotencyListeners(listeners.orderedStream().toList());
		this.check = (stores.getIfUnique() instanceof RedisIdempotencyStore store)
				? new RedisServerCheck(store, properties.redis().onEvictionPolicy() == OnEvictionPolicy.REFUSE,
						(evictable) -> listener.evictionChecked(store.name(), evictable))
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
