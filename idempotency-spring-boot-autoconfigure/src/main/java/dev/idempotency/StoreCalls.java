package dev.idempotency;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Calls a store, tells the circuit breaker and the listeners, and turns whatever a store
 * throws into one of the conditions that make the record come again: an error of the
 * store is never one of the handler.
 */
final class StoreCalls {

	private final String store;

	private final IdempotencyListener listener;

	private final StoreCircuit circuit;

	private final StoreAvailability availability;

	private Runnable onSuccess = () -> {
	};

	StoreCalls(String store, IdempotencyListener listener, StoreCircuit circuit, boolean failOpen) {
		this.store = store;
		this.listener = listener;
		this.circuit = circuit;
		this.availability = new StoreAvailability(store, failOpen);
		circuit.onStateChange((state) -> listener.circuitChanged(store, state));
	}

	/**
	 * Name what is done after each call that has succeeded. To be called once, before the
	 * first call.
	 * @param action the action, which must be quick: the caller waits for it
	 */
	void onSuccess(Runnable action) {
		this.onSuccess = action;
	}

	/**
	 * Pass the circuit breaker. A call, or one of {@link #failed} and {@link #release},
	 * must follow.
	 * @param operation what is asked for
	 * @throws IdempotencyStoreUnavailableException while the circuit is open
	 */
	void permit(Object operation) {
		if (!isPermitted()) {
			throw new IdempotencyStoreUnavailableException("The circuit breaker of the idempotency store '" + this.store
					+ "' is open, so the store was not asked for " + operation
					+ "; the record will be delivered again when the store answers", null);
		}
	}

	boolean isPermitted() {
		return this.circuit.tryAcquirePermission();
	}

	void release() {
		this.circuit.releasePermission();
	}

	<T extends @Nullable Object> T call(StoreCall call, Object subject, Supplier<T> action) {
		long start = System.nanoTime();
		Throwable error = null;
		try {
			return action.get();
		}
		catch (OperationInProgressException ex) {
			throw new OperationInProgressException(ex.getMessage() + ": " + subject, ex.retryAfter());
		}
		catch (IdempotencyRecordUnreadableException ex) {
			throw new IdempotencyRecordUnreadableException(ex.getMessage() + ": " + subject, ex.getCause());
		}
		catch (UnexpectedRollbackException ex) {
			// What the handler did to the transaction is no fault of the store.
			throw ex;
		}
		catch (RuntimeException ex) {
			error = ex;
			throw unavailable(call, subject, ex);
		}
		catch (Throwable ex) {
			error = ex;
			throw ex;
		}
		finally {
			Duration duration = Duration.ofNanos(System.nanoTime() - start);
			if (error == null) {
				this.circuit.onSuccess(duration);
				this.availability.answered();
				this.onSuccess.run();
			}
			else {
				failed(error, duration);
			}
			this.listener.storeCalled(this.store, call, error == null, duration);
		}
	}

	void failed(Throwable error, Duration duration) {
		this.circuit.onError(duration, error);
		this.availability.failed(error);
	}

	/**
	 * Settle what a handler has done. An interrupt, which may have ended the handler,
	 * does not end the call.
	 * @param call what is asked
	 * @param subject what it is about
	 * @param action the call
	 * @param <T> the type of the answer
	 * @return the answer of the store
	 */
	<T> T settle(StoreCall call, Object subject, Supplier<T> action) {
		boolean interrupted = Thread.interrupted();
		try {
			return call(call, subject, action);
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	private IdempotencyStoreUnavailableException unavailable(StoreCall call, Object subject, RuntimeException error) {
		return new IdempotencyStoreUnavailableException(
				"The idempotency store '" + this.store + "' did not do a " + call.name().toLowerCase(Locale.ROOT)
						+ " for " + subject + "; the record will be delivered again when the store answers",
				error);
	}

}
