package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.springframework.util.Assert;

import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;

/**
 * What applies where the annotation is silent.
 *
 * @param mode the mode
 * @param lease how long a claim lives
 * @param retention how long a completed key is remembered
 * @param storeTimeout how long a call of the store may take
 * @param keyHeaders header names of the key, in order; {@code a+b} is a key of two
 * headers
 * @param onMissingKey what happens without a key
 * @since 0.1.0
 */
public record ListenerDefaults(Mode mode, Duration lease, Duration retention, Duration storeTimeout,
		List<String> keyHeaders, MissingKeyPolicy onMissingKey) {

	public ListenerDefaults {
		Assert.isTrue(onMissingKey != MissingKeyPolicy.DEFAULT, "'onMissingKey' must name a policy");
	}

}
