package dev.idempotency.template;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The latest claim of each key whose lease this process renews.
 */
final class LocalClaims {

	private static final int REMOVED = 256;

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

	private final Map<IdempotencyKey, OwnedClaim> latest = new ConcurrentHashMap<>();

	// Some of the keys whose claims were removed last, by their hash codes.
	private final AtomicReferenceArray<@Nullable IdempotencyKey> removed = new AtomicReferenceArray<>(REMOVED);

	private final Map<IdempotencyKey, CompletableFuture<@Nullable Void>> awaited = new ConcurrentHashMap<>();

	// Returns the previous claim of the key.
	@Nullable OwnedClaim put(OwnedClaim claim) {
		return this.latest.put(claim.request().key(), claim);
	}

	void remove(OwnedClaim claim) {
		IdempotencyKey key = claim.request().key();
		if (this.latest.remove(key, claim)) {
			this.removed.set(slot(key), key);
			CompletableFuture<@Nullable Void> released = this.awaited.get(key);
			if (released != null) {
				released.complete(null);
			}
		}
	}

	private static int slot(IdempotencyKey key) {
		return Math.floorMod(key.hashCode(), REMOVED);
	}

	// Returns a stage that completes when the claim of this process that has blocked
	// another one has been removed, or when the time is over, because another process has
	// the key. The store has answered both claims, but this process may not have added
	// its own yet, or may have removed it already.
	CompletionStage<?> released(IdempotencyKey key) {
		CompletableFuture<@Nullable Void> released = this.awaited.computeIfAbsent(key, (any) -> {
			CompletableFuture<@Nullable Void> added = new CompletableFuture<>();
			added.completeOnTimeout(null, LONGEST_WAIT.toSeconds(), TimeUnit.SECONDS)
				.thenRun(() -> this.awaited.remove(key, added));
			return added;
		});
		if (!this.latest.containsKey(key) && takeRemoved(key)) {
			released.complete(null);
		}
		return released;
	}

	// A removal ends one wait at most: the record would be redelivered in a loop if
	// another process claimed the key after that.
	private boolean takeRemoved(IdempotencyKey key) {
		IdempotencyKey last = this.removed.get(slot(key));
		return key.equals(last) && this.removed.compareAndSet(slot(key), last, null);
	}

}
