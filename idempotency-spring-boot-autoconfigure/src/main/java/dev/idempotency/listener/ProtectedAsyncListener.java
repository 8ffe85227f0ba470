package dev.idempotency.listener;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Executed;
import dev.idempotency.IdempotencyListener.Outcome;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.OperationBlockedException;

/**
 * A method that gets one record and is done when its answer arrives. Spring Kafka
 * acknowledges the record then, which for a duplicate is at once.
 */
final class ProtectedAsyncListener implements ProtectedListener {

	private final ListenerSettings settings;

	private final OperationResolver operations;

	private final AsyncResult result;

	ProtectedAsyncListener(ListenerSettings settings, OperationResolver operations, AsyncResult result) {
		this.settings = settings;
		this.operations = operations;
		this.result = result;
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
			this.operations.executed(Outcome.UNPROTECTED, Duration.ZERO);
			return invocation.proceed();
		}
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
