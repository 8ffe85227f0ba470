package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.Mode;

/**
 * The settings of an {@link IdempotencyTemplate}.
 *
 * @param transactionManager the manager of the store's database, {@code null} if only
 * {@link Mode#LEASED} is used
 * @param failOpen whether handlers run unprotected while the store is unavailable
 * @param circuit the circuit breaker around the store
 * @param cache the local cache of completed keys
 * @param listeners the listeners to notify
 * @param contexts the contexts to open around operations
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
	 * Create settings without contexts.
	 * @param transactionManager the manager of the store's database
	 * @param failOpen whether handlers run unprotected while the store is unavailable
	 * @param circuit the circuit breaker around the store
	 * @param cache the local cache of completed keys
	 * @param listeners the listeners to notify
	 */
	public TemplateSettings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
			StoreCircuit circuit, CompletionCache cache, List<IdempotencyListener> listeners) {
		this(transactionManager, failOpen, circuit, cache, listeners, List.of());
	}

	/**
	 * Create settings without a circuit breaker and a cache.
	 * @param transactionManager the manager of the store's database
	 * @param failOpen whether handlers run unprotected while the store is unavailable
	 * @param listeners the listeners to notify
	 */
	public TemplateSettings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
			List<IdempotencyListener> listeners) {
		this(transactionManager, failOpen, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, listeners);
	}

}
