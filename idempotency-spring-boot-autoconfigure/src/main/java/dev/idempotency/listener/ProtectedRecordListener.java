package dev.idempotency.listener;

import java.time.Duration;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.listener.key.OperationResolver.Resolution;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.IdempotentOperation;

/**
 * A method that gets one record.
 */
final class ProtectedRecordListener implements ProtectedListener {

	private final ListenerSettings settings;

	private final RecordExecution execution;

	ProtectedRecordListener(ListenerSettings settings, RecordExecution execution) {
		this.settings = settings;
		this.execution = execution;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		Resolution resolution = this.settings.operations().resolve(delivery.record(), invocation.getArguments());
		if (resolution.excluded()) {
			return this.execution.executeUnprotected(resolution.origin(), invocation, delivery);
		}
		IdempotentOperation operation = resolution.operation();
		return (operation != null) ? this.execution.execute(operation, invocation, delivery)
				: unprotected(resolution.origin(), invocation, delivery);
	}

	private @Nullable Object unprotected(Object origin, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		long start = System.nanoTime();
		Outcome outcome = Outcome.UNPROTECTED;
		try {
			return this.execution.executeUnprotected(origin, invocation, delivery);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			outcome = Outcome.UNAVAILABLE;
			throw ex;
		}
		finally {
			this.settings.operations().reportWithoutKey(outcome, Duration.ofNanos(System.nanoTime() - start));
		}
	}

}
