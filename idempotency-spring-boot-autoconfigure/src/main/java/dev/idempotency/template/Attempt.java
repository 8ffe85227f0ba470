package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.IdempotentExecutionHolder;

/**
 * One delivery of an operation, and what is known about its handler.
 *
 * @param <T> the type of the result
 * @param <E> what the handler throws
 */
final class Attempt<T, E extends Throwable> {

	private final IdempotentOperation operation;

	private final OperationHandler<T, E> handler;

	private boolean started;

	private int number;

	private @Nullable Throwable failure;

	Attempt(IdempotentOperation operation, OperationHandler<T, E> handler) {
		this.operation = operation;
		this.handler = handler;
	}

	IdempotentOperation operation() {
		return this.operation;
	}

	boolean started() {
		return this.started;
	}

	// In an earlier delivery to this process.
	void hasRun() {
		this.started = true;
	}

	// 0 before the handler has run under a claim.
	int number() {
		return this.number;
	}

	boolean failedWith(Throwable error) {
		return this.failure == error;
	}

	@Nullable T run(IdempotentExecution execution) throws E {
		this.started = true;
		this.number = execution.attempt();
		List<@Nullable IdempotentExecution> previous = IdempotentExecutionHolder.bind(List.of(execution));
		try {
			return this.handler.handle();
		}
		catch (Throwable ex) {
			this.failure = ex;
			throw ex;
		}
		finally {
			IdempotentExecutionHolder.bind(previous);
		}
	}

}
