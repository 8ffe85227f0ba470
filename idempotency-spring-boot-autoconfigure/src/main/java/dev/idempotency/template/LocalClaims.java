package dev.idempotency.template;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The latest claim of each key whose lease this process renews.
 */
final class LocalClaims {

	private final Map<IdempotencyKey, OwnedClaim> latest = new ConcurrentHashMap<>();

	private final Map<IdempotencyKey, CompletableFuture<@Nullable Void>> awaited = new ConcurrentHashMap<>();

	// Returns the previous claim of the key.
	@Nullable OwnedClaim put(OwnedClaim claim) {
		return this.latest.put(claim.request().key(), claim);
	}

	void remove(OwnedClaim claim) {
		IdempotencyKey key = claim.request().key();
		if (this.latest.remove(key, claim) && !this.awaited.isEmpty()) {
			CompletableFuture<@Nullable Void> released = this.awaited.remove(key);
			if (released != null) {
				released.complete(null);
			}
		}
	}

	// Returns a stage that completes when no claim of the key is left, null if there is
	// none now.
	@Nullable CompletionStage<?> released(IdempotencyKey key) {
		if (!this.latest.containsKey(key)) {
			return null;
		}
		CompletableFuture<@Nullable Void> released = this.awaited.computeIfAbsent(key,
				(any) -> new CompletableFuture<>());
		// The claim may have been removed before the stage was added.
		if (!this.latest.containsKey(key) && this.awaited.remove(key, released)) {
			released.complete(null);
		}
		return released;
	}

}
