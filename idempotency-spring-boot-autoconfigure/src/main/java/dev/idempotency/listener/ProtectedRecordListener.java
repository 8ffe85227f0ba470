package dev.idempotency.listener;

import java.time.Duration;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Executed;
import dev.idempotency.IdempotencyListener.Outcome;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.OperationBlockedException;

/**
 * A method that gets one record and is done when it returns.
 */
final class ProtectedRecordListener implements ProtectedListener {

	private final ListenerSettings settings;

	private final OperationResolver operations;

	ProtectedRecordListener(ListenerSettings settings, OperationResolver operations) {
		this.settings = settings;
		this.operations = operations;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		RecordContext context = new RecordContext(this.settings.parameters(), delivery.record(),
				invocation.getArguments());
		Origin origin = new Origin(this.settings.name(), delivery.record());
		if (this.operations.isExcluded(context, origin)) {
			return invocation.proceed();
		}
		IdempotentOperation operation = this.operations.resolve(context, origin);
		if (operation == null) {
			return unprotected(invocation);
		}
		delivery.begin();
		try {
			Executed<Object> executed = this.settings.template()
				.execute(operation, this.settings.codec(), this.settings.boundary(), () -> {
					Object result = invocation.proceed();
					delivery.checkNotNacked();
					return result;
				});
			delivery.completed(executed.duplicate());
			return executed.result();
		}
		catch (NackedException ex) {
			// The container has been told by the method itself.
			return null;
		}
		catch (OperationBlockedException ex) {
			delivery.block(ex);
			throw ex;
		}
		finally {
			delivery.end();
		}
	}

	private @Nullable Object unprotected(MethodInvocation invocation) throws Throwable {
		long start = System.nanoTime();
		try {
			return invocation.proceed();
		}
		finally {
			this.operations.executed(Outcome.UNPROTECTED, Duration.ofNanos(System.nanoTime() - start));
		}
	}

}
