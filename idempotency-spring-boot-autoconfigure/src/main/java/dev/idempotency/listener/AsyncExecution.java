package dev.idempotency.listener;

import java.util.concurrent.CompletableFuture;

import org.aopalliance.intercept.MethodInvocation;

import dev.idempotency.Executed;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.OperationBlockedException;

/**
 * Of a method that is done when its answer arrives. Spring Kafka acknowledges the record
 * then, which for a duplicate is at once.
 *
 * @param settings what the annotation says
 * @param result how the method answers
 */
record AsyncExecution(ListenerSettings settings, AsyncResult result) implements RecordExecution {

	@Override
	public Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		delivery.begin();
		try {
			return this.result.answer(value(delivery, this.settings.template()
				.executeAsync(operation, this.settings.codec(), () -> this.result.stage(invocation.proceed()))));
		}
		catch (OperationBlockedException ex) {
			delivery.end();
			delivery.block(ex);
			return this.result.wait(ex);
		}
		catch (Throwable ex) {
			delivery.end();
			throw ex;
		}
	}

	// Before the adapter, which waits for the value, acknowledges.
	private static CompletableFuture<Object> value(Delivery delivery, CompletableFuture<Executed<Object>> answer) {
		CompletableFuture<Object> value = new CompletableFuture<>();
		answer.whenComplete((executed, error) -> {
			if (error != null) {
				delivery.end();
				value.completeExceptionally(error);
			}
			else {
				delivery.completed(false);
				value.complete(executed.result());
			}
		});
		value.whenComplete((result, error) -> {
			if (value.isCancelled()) {
				answer.cancel(true);
			}
		});
		return value;
	}

}
