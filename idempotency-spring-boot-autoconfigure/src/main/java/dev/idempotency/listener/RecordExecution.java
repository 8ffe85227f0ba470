package dev.idempotency.listener;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotentOperation;

/**
 * How the operation of one record is run.
 */
interface RecordExecution {

	/**
	 * Run the method, if that is due.
	 * @param operation the operation that the record asks for
	 * @param invocation the call of the method
	 * @param delivery what was delivered
	 * @return what the method is to have returned
	 * @throws Throwable when the method failed, or the record has to come again
	 */
	@Nullable Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery) throws Throwable;

	/**
	 * Run the method for a record that has no key, or that the condition excludes.
	 * @param origin the record
	 * @param invocation the call of the method
	 * @param delivery what was delivered
	 * @return what the method returned
	 * @throws Throwable when the method failed, or the record has to be redelivered
	 */
	default @Nullable Object executeUnprotected(Object origin, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		return invocation.proceed();
	}

}
