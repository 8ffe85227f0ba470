package dev.idempotency.listener.key;

import org.jspecify.annotations.Nullable;

/**
 * Says why the sources of a record's key gave none; the policy for missing keys decides
 * what follows.
 */
final class UnusableKeyException extends RuntimeException {

	UnusableKeyException(String reason, @Nullable Throwable cause) {
		super(reason, cause);
	}

}
