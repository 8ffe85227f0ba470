package dev.idempotency.slf4j;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationContext;

/**
 * Puts {@code idempotency.key} and {@code idempotency.scope} into the diagnostic context
 * of the log while an operation is handled on a thread: of an asynchronous one until its
 * method returns, of a batch only the scope. What was there before comes back.
 *
 * @since 0.1.0
 */
public final class MdcOperationContext implements OperationContext {

	private static final String KEY = "idempotency.key";

	private static final String SCOPE = "idempotency.scope";

	@Override
	public Scope begin(IdempotentOperation operation) {
		String key = MDC.get(KEY);
		String scope = MDC.get(SCOPE);
		MDC.put(KEY, operation.key().value());
		MDC.put(SCOPE, operation.key().scope());
		return () -> {
			restore(KEY, key);
			restore(SCOPE, scope);
		};
	}

	@Override
	public Scope beginBatch(String batchScope) {
		String scope = MDC.get(SCOPE);
		MDC.put(SCOPE, batchScope);
		return () -> restore(SCOPE, scope);
	}

	private static void restore(String name, @Nullable String value) {
		if (value != null) {
			MDC.put(name, value);
		}
		else {
			MDC.remove(name);
		}
	}

}
