package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.Mode;

/**
 * How an {@link IdempotencyTemplate} works.
 *
 * @param transactionManager the manager of the store's database, {@code null} if there is
 * none: then only {@link Mode#LEASED} works
 * @param failOpen whether handlers run unprotected while the store is unavailable
 * @param circuit the circuit breaker around the store
 * @param cache the local cache of completed keys
 * @param listeners who is told
 * @param contexts what surrounds operations
 * @since 0.1.0
 */
public record TemplateSettings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
		StoreCircuit circuit, CompletionCache cache, List<IdempotencyListener> listeners,
		List<OperationContext> contexts) {

	public TemplateSettings {
		listeners = List.copyOf(listeners);
		contexts = List.copyOf(contexts);
	}

	/**
	 * Settings without anything that surrounds operations.
	 * @param transactionManager the manager of the store's database
	 * @param failOpen whether handlers run unprotected while the store is unavailable
	 * @param circuit the circuit breaker around the store
	 * @param cache the local cache of completed keys
	 * @param listeners who is told
	 */
	public TemplateSettings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
			StoreCircuit circuit, CompletionCache cache, List<IdempotencyListener> listeners) {
		this(transactionManager, failOpen, circuit, cache, listeners, List.of());
	}

	/**
	 * Settings without a circuit breaker and without a cache.
	 * @param transactionManager the manager of the store's database
	 * @param failOpen whether handlers run unprotected while the store is unavailable
	 * @param listeners who is told
	 */
	public TemplateSettings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
			List<IdempotencyListener> listeners) {
		this(transactionManager, failOpen, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, listeners);
	}

}
