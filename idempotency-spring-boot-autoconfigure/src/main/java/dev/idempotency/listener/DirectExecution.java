package dev.idempotency.listener;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;

/**
 * Of a method that is done when it returns.
 *
 * @param settings what the annotation says
 * @param check refuses that the method returns without acknowledging its record,
 * {@code null} if it may
 */
record DirectExecution(ListenerSettings settings, @Nullable AcknowledgmentCheck check) implements RecordExecution {

	@Override
	public @Nullable Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		delivery.begin(operation.key());
		try {
			IdempotentResult<Object> executed = this.settings.template()
				.execute(operation, this.settings.codec(), this.settings.boundary(),
						() -> proceed(operation, invocation, delivery));
			delivery.completed(executed.duplicate());
			return executed.result();
		}
		catch (NackedException ex) {
			// The container has been told by the method itself.
			return null;
		}
		catch (OperationBlockedException ex) {
			if (ex instanceof OperationInProgressException && delivery.isCopyOfUnacknowledged(operation.key())) {
				// The claim is ours. Waiting for it could be waiting for this record.
				return null;
			}
			delivery.block(ex);
			throw ex;
		}
		finally {
			delivery.end();
		}
	}

	private @Nullable Object proceed(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		Object result = proceed(invocation, delivery);
		if (this.check != null && delivery.isUnacknowledged()) {
			throw this.check.failure(operation);
		}
		return result;
	}

	@Override
	public @Nullable Object executeUnprotected(Object origin, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		if (this.settings.mode() == Mode.LEASED) {
			return invocation.proceed();
		}
		delivery.begin();
		try {
			Object result = this.settings.template()
				.executeUnprotected(origin, this.settings.mode(), this.settings.boundary(),
						() -> proceed(invocation, delivery));
			delivery.completed(false);
			return result;
		}
		catch (NackedException ex) {
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

	private static @Nullable Object proceed(MethodInvocation invocation, Delivery delivery) throws Throwable {
		Object result = invocation.proceed();
		delivery.checkNotNacked();
		return result;
	}

}
