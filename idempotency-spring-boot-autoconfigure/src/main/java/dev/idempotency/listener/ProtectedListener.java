package dev.idempotency.listener;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * One {@code @Idempotent} method of one endpoint.
 */
interface ProtectedListener {

	/**
	 * Turn a delivery into operations, and run the method for those that are due.
	 * @param invocation the call of the method
	 * @param delivery what was delivered
	 * @return what the method is to have returned
	 * @throws Throwable when the method failed, or the delivery has to come again
	 */
	@Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable;

}
