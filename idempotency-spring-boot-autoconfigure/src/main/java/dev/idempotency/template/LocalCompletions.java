package dev.idempotency.template;

import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;

/**
 * A cache of completed keys that stays without a key for a while after its removal: a
 * duplicate that read the record before the removal must not add it again.
 */
final class LocalCompletions implements CompletionCache {

	// Longer than a call of the store.
	private static final Duration MEMORY = Duration.ofMinutes(1);

	private final CompletionCache cache;

	private final Map<IdempotencyKey, Long> forgotten = new ConcurrentHashMap<>();

	LocalCompletions(CompletionCache cache) {
		this.cache = cache;
	}

	@Override
	public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		return this.cache.find(key, fingerprint);
	}

	@Override
	public void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result, Duration retention) {
		this.cache.add(key, fingerprint, result, retention);
		if (!this.forgotten.isEmpty() && this.forgotten.containsKey(key)) {
			this.cache.remove(key);
		}
	}

	@Override
	public void remove(IdempotencyKey key) {
		removeAll(Set.of(key));
	}

	/**
	 * Remove keys before their records change: whoever adds one of them from now on may
	 * have read the record as it was.
	 * @param keys the keys
	 */
	void removeAll(Collection<IdempotencyKey> keys) {
		long now = System.nanoTime();
		this.forgotten.values().removeIf((since) -> now - since > MEMORY.toNanos());
		for (IdempotencyKey key : keys) {
			this.forgotten.put(key, now);
			this.cache.remove(key);
		}
	}

}
