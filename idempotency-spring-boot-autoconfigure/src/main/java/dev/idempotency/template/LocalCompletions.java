package dev.idempotency.template;

import java.time.Duration;
import java.util.Map;
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

	// Before the record changes: whoever adds it now has seen it as it was.
	@Override
	public void remove(IdempotencyKey key) {
		this.forgotten.values().removeIf((since) -> System.nanoTime() - since > MEMORY.toNanos());
		this.forgotten.put(key, System.nanoTime());
		this.cache.remove(key);
	}

}
