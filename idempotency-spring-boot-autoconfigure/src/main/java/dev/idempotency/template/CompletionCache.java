package dev.idempotency.template;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;

/**
 * Completed keys in the memory of this process, so that a repeated duplicate costs no
 * round trip. Bounded, and never an authority: a key that is not here is claimed. Only
 * completions that the store has confirmed, and whose transaction has committed, get
 * here.
 *
 * @since 0.1.0
 */
public interface CompletionCache {

	/**
	 * No cache.
	 */
	CompletionCache NONE = new CompletionCache() {

		@Override
		public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
			return null;
		}

		@Override
		public void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result,
				Duration retention) {
		}

		@Override
		public void remove(IdempotencyKey key) {
		}

	};

	/**
	 * Look a completed key up.
	 * @param key the key
	 * @param fingerprint the digest of the content that the key stands for now
	 * @return the completion, or {@code null} if it is not known here with exactly this
	 * fingerprint
	 */
	Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint);

	/**
	 * Remember a completed key.
	 * @param key the key
	 * @param fingerprint the digest of the content that the key stands for
	 * @param result the stored result
	 * @param retention the longest time that it may be remembered
	 */
	void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result, Duration retention);

	/**
	 * Forget a key.
	 * @param key the key
	 */
	void remove(IdempotencyKey key);

}
