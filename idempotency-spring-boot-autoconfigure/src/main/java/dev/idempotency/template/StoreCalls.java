package dev.idempotency.template;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotencyListener.StoreOutcome;

/**
 * Calls a store, reports the outcome to the circuit breaker and the listeners, and
 * converts whatever a store throws into an {@link OperationBlockedException}: an error of
 * the store is never one of the handler. Only an outage counts for the circuit breaker.
 */
final class StoreCalls {

	private final String store;

	private final IdempotencyListener listener;

	private final StoreCircuit circuit;

	private final StoreAvailability availability;

	private final RefusalLog refusals = new RefusalLog();

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
					+ "; the record is redelivered when the store answers", null);
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
		StoreOutcome outcome = StoreOutcome.OK;
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
			if (isOutage(ex)) {
				outcome = StoreOutcome.UNAVAILABLE;
				IdempotencyStoreUnavailableException unavailable = unavailable(call, subject, ex);
				failed(unavailable, since(start));
				throw unavailable;
			}
			outcome = StoreOutcome.REFUSED;
			IdempotencyStoreRefusedException refused = refused(call, subject, ex);
			this.refusals.refused(call, refused);
			this.listener.storeFailed(this.store, refused);
			throw refused;
		}
		catch (Throwable ex) {
			outcome = StoreOutcome.REFUSED;
			throw ex;
		}
		finally {
			Duration duration = since(start);
			if (outcome != StoreOutcome.UNAVAILABLE) {
				// Also a refusal is an answer.
				this.circuit.onSuccess(duration);
			}
			if (outcome == StoreOutcome.OK) {
				this.availability.answered();
				this.onSuccess.run();
			}
			this.listener.storeCalled(this.store, call, outcome, duration);
		}
	}

	private static Duration since(long start) {
		return Duration.ofNanos(System.nanoTime() - start);
	}

	private static boolean isOutage(RuntimeException error) {
		return error instanceof IdempotencyStoreUnavailableException
				|| (!(error instanceof IdempotencyStoreRefusedException) && StoreErrors.isOutage(error));
	}

	/**
	 * Report that the store was unavailable.
	 * @param error why
	 * @param duration how long that took
	 */
	void failed(IdempotencyStoreUnavailableException error, Duration duration) {
		this.listener.storeFailed(this.store, error);
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
		return new IdempotencyStoreUnavailableException("The idempotency store '" + this.store + "' did not do a "
				+ name(call) + " for " + subject + "; the record is redelivered when the store answers",
				StoreErrors.code(error), error);
	}

	private IdempotencyStoreRefusedException refused(StoreCall call, Object subject, RuntimeException error) {
		boolean named = error instanceof IdempotencyStoreRefusedException;
		Throwable cause = named ? error.getCause() : error;
		return new IdempotencyStoreRefusedException("The idempotency store '" + this.store + "' refused a " + name(call)
				+ " for " + subject + "; it is tried again until the store accepts it. Remove the cause: "
				+ (named ? error.getMessage() : error.getClass().getName()), StoreErrors.code(error), cause);
	}

	private static String name(StoreCall call) {
		return call.name().toLowerCase(Locale.ROOT);
	}

}
