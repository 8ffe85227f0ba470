package dev.idempotency.listener;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Executed;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.OperationBlockedException;

/**
 * Of a method that is done when it returns.
 *
 * @param settings what the annotation says
 */
record DirectExecution(ListenerSettings settings) implements RecordExecution {

	@Override
	public @Nullable Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
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

}
