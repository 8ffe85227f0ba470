package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.IdempotentExecution.Holder;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * One delivery of an operation: runs its handler, and reports its outcome to the listener
 * and to the context of the operation.
 *
 * @param <T> the type of the result
 * @param <E> the type of the exception that the handler throws
 */
final class Invocation<T, E extends Throwable> {

	private static final Map<Class<?>, Outcome> OUTCOMES = Map.of(OperationInProgressException.class,
			Outcome.IN_PROGRESS, OperationLostException.class, Outcome.LOST, IdempotencyVersionStaleException.class,
			Outcome.STALE, IdempotencyRecordUnreadableException.class, Outcome.UNREADABLE,
			IdempotencyStoreUnavailableException.class, Outcome.UNAVAILABLE, IdempotencyStoreRefusedException.class,
			Outcome.REFUSED, OperationNotAcknowledgedException.class, Outcome.BLOCKED, NackedException.class,
			Outcome.BLOCKED);

	private final IdempotentOperation operation;

	private final Handler<T, E> handler;

	private final Engine engine;

	private final OpenContext context;

	private final long start = System.nanoTime();

	private boolean started;

	private int attempt;

	private @Nullable Throwable handlerFailure;

	private Outcome outcome = Outcome.FAILED;

	private boolean unprotected;

	private boolean deferred;

	private boolean declined;

	Invocation(Engine engine, IdempotentOperation operation, Handler<T, E> handler) {
		this.operation = operation;
		this.handler = handler;
		this.engine = engine;
		this.context = engine.contexts().begin(operation);
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	// Whether the handler has been started for the operation in this process, by
	// this delivery or by an earlier one whose completion was pending.
	boolean isStarted() {
		return this.started;
	}

	void markStarted() {
		this.started = true;
	}

	@Nullable T run(IdempotentExecution execution) throws E {
		this.started = true;
		this.attempt = execution.attempt();
		List<@Nullable IdempotentExecution> previous = Holder.bind(List.of(execution));
		try {
			T result = this.handler.handle();
			this.declined = result instanceof Declined;
			return result;
		}
		catch (Throwable ex) {
			this.handlerFailure = ex;
			throw ex;
		}
		finally {
			Holder.bind(previous);
		}
	}

	@Nullable T runUnprotected() throws E {
		this.unprotected = true;
		T result = this.handler.handle();
		if (result instanceof Declined decline) {
			// Its transaction must be rolled back.
			throw decline.toException(false);
		}
		return result;
	}

	void ended(IdempotentResult<?> result) {
		this.outcome = result.stale() ? Outcome.STALE : result.duplicate() ? Outcome.DUPLICATE
				: (result.result() instanceof Declined) ? Outcome.DECLINED : Outcome.PROCESSED;
	}

	void failed(Throwable error) {
		this.outcome = (error == this.handlerFailure) ? handlerOutcome(error) : outcome(error);
	}

	void ended(@Nullable IdempotentResult<?> result, @Nullable Throwable error) {
		if (result != null) {
			ended(result);
		}
		else if (error != null) {
			this.outcome = (error instanceof OperationLostException) ? Outcome.LOST : handlerOutcome(error);
		}
		report();
	}

	// Defer the report until the transaction of the caller has ended.
	Consumer<Outcome> deferReport() {
		this.deferred = true;
		return (ended) -> {
			this.deferred = false;
			this.outcome = (this.declined && ended == Outcome.PROCESSED) ? Outcome.DECLINED : ended;
			report();
		};
	}

	void report() {
		if (this.deferred) {
			return;
		}
		HandledOperation execution = new HandledOperation(this.operation.name(), this.operation.mode(),
				this.operation.key(), this.unprotected ? Outcome.UNPROTECTED : this.outcome,
				Duration.ofNanos(System.nanoTime() - this.start), this.attempt);
		this.engine.observers().operation((observer) -> observer.handled(execution));
		this.context.ended(execution);
	}

	void leaveContext() {
		this.context.close();
	}

	// A handler that is blocked, or that requests a redelivery, has not failed.
	static boolean isFailure(Throwable error) {
		return !(error instanceof NackedException) && OperationBlockedException.in(error) == null;
	}

	private static Outcome handlerOutcome(Throwable error) {
		return isFailure(error) ? Outcome.FAILED : Outcome.BLOCKED;
	}

	static Outcome outcome(Throwable error) {
		return OUTCOMES.getOrDefault(error.getClass(),
				(error instanceof OperationRejectedException) ? Outcome.REJECTED : Outcome.FAILED);
	}

}
