package dev.idempotency;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Calls a store, tells the listeners, and turns whatever a store throws into one of the
 * conditions that make the record come again: an error of the store is never one of the
 * handler.
 */
final class StoreCalls {

	private final IdempotencyStore store;

	private final IdempotencyListener listener;

	StoreCalls(IdempotencyStore store, IdempotencyListener listener) {
		this.store = store;
		this.listener = listener;
	}

	<T extends @Nullable Object> T call(StoreCall call, IdempotentOperation operation, Supplier<T> action) {
		long start = System.nanoTime();
		boolean available = false;
		try {
			T answer = action.get();
			available = true;
			return answer;
		}
		catch (OperationInProgressException ex) {
			available = true;
			throw new OperationInProgressException(ex.getMessage() + ": " + operation, ex.retryAfter());
		}
		catch (UnexpectedRollbackException ex) {
			// What the handler did to the transaction is no fault of the store.
			available = true;
			throw ex;
		}
		catch (RuntimeException ex) {
			throw new IdempotencyStoreUnavailableException("The idempotency store '" + this.store.name()
					+ "' did not do a " + call.name().toLowerCase(Locale.ROOT) + " for " + operation
					+ "; the record will be delivered again when the store answers", ex);
		}
		finally {
			this.listener.storeCalled(this.store.name(), call, available, Duration.ofNanos(System.nanoTime() - start));
		}
	}

}
