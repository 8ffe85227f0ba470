package dev.idempotency.template;

import java.time.Duration;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;

/**
 * A business operation that is to take effect once.
 *
 * @param key the key
 * @param name the name of the operation's listener, from a bounded set; used for meters
 * @param origin where the operation comes from; its text is part of error messages and
 * must not hold a payload; it is kept while a completion is pending
 * @param mode how the operation is protected; not {@link Mode#AUTO}
 * @param fingerprint the {@link Fingerprint} of the content that the key stands for,
 * {@code null} to compare nothing
 * @param lease how long a claim lives; more than zero
 * @param retention how long a completed key is remembered; more than the lease
 * @since 0.1.0
 */
public record IdempotentOperation(IdempotencyKey key, String name, Object origin, Mode mode,
		byte @Nullable [] fingerprint, Duration lease, Duration retention) {

	public IdempotentOperation {
		Assert.notNull(key, "'key' must not be null");
		Assert.isTrue(mode != Mode.AUTO, "'mode' must not be AUTO");
		Assert.isTrue(fingerprint == null || fingerprint.length == Fingerprint.LENGTH,
				"'fingerprint' must be made by Fingerprint.of(...)");
		Assert.isTrue(lease.toMillis() > 0, "'lease' must be at least a millisecond");
		Assert.isTrue(retention.compareTo(lease) > 0, "'retention' must be longer than 'lease'");
	}

	ClaimRequest newRequest() {
		return new ClaimRequest(this.key, UUID.randomUUID(), this.fingerprint, this.lease, this.retention);
	}

	@Override
	public String toString() {
		return this.key + " (" + this.origin + ")";
	}

}
