package dev.idempotency.listener;

import java.time.Duration;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.IdempotentOperation;

/**
 * A method that gets one record.
 */
final class ProtectedRecordListener implements ProtectedListener {

	private final ListenerSettings settings;

	private final OperationResolver operations;

	private final RecordExecution execution;

	ProtectedRecordListener(ListenerSettings settings, OperationResolver operations, RecordExecution execution) {
		this.settings = settings;
		this.operations = operations;
		this.execution = execution;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		RecordContext context = new RecordContext(this.settings.parameters(), delivery.record(),
				invocation.getArguments());
		Origin origin = Origin.of(this.settings.name(), delivery.record());
		if (this.operations.isExcluded(context, origin)) {
			return this.execution.executeUnprotected(origin, invocation, delivery);
		}
		IdempotentOperation operation = this.operations.resolve(context, origin);
		return (operation != null) ? this.execution.execute(operation, invocation, delivery)
				: unprotected(origin, invocation, delivery);
	}

	private @Nullable Object unprotected(Origin origin, MethodInvocation invocation, Delivery delivery)
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
			this.operations.executed(outcome, Duration.ofNanos(System.nanoTime() - start));
		}
	}

}
