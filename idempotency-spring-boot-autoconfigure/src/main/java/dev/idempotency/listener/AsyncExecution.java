package dev.idempotency.listener;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.ProxyMethodInvocation;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;

/**
 * Runs a method that is done when its answer arrives. Spring Kafka acknowledges the
 * record then, which for a duplicate is at once.
 * <p>
 * A failed answer would be acknowledged, and the consumer would be sought back behind
 * records that are still in flight. So an answer does not fail while another owner has
 * the key: it waits until that owner has completed, or the method has run again.
 *
 * @param settings what the annotation says
 * @param result how the method answers
 */
record AsyncExecution(ListenerSettings settings, AsyncResult result) implements RecordExecution {

	@Override
	public Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		ProxyMethodInvocation calls = (ProxyMethodInvocation) invocation;
		delivery.begin();
		try {
			return this.result.answer(value(delivery, this.settings.template()
				.executeAsyncUntilCompleted(operation, this.settings.codec(), () -> run(calls, delivery))));
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

	// It runs again when another owner has taken it over and has failed.
	// An invocation can proceed only once.
	private CompletionStage<Object> run(ProxyMethodInvocation calls, Delivery delivery) throws Throwable {
		delivery.begin();
		return this.result.stage(calls.invocableClone().proceed());
	}

	// Before the adapter, which waits for the value, acknowledges.
	private static CompletableFuture<Object> value(Delivery delivery,
			CompletableFuture<IdempotentResult<Object>> answer) {
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
