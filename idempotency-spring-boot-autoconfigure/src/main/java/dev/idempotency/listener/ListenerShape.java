package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;

/**
 * What kind of listener a method is.
 *
 * @param batch whether it gets batches
 * @param async how it answers later, {@code null} if it is done when it returns
 * @param kafkaTransaction whether its container has a Kafka transaction
 */
record ListenerShape(boolean batch, @Nullable AsyncResult async, boolean kafkaTransaction) {

	static ListenerShape of(Method method, MessageListenerContainer container) {
		Object listener = ContainerProtection.target(container.getContainerProperties().getMessageListener());
		return new ListenerShape(listener instanceof BatchMessageListener<?, ?>, AsyncResult.of(method),
				container.getContainerProperties().getKafkaAwareTransactionManager() != null);
	}

	/**
	 * What is stored for one record.
	 * @param method the method
	 * @param targetClass its class
	 * @return the type of the result, {@code null} if there is none
	 */
	@Nullable Type resultType(Method method, Class<?> targetClass) {
		ResolvableType type = KotlinDetector.isSuspendingFunction(method) ? continuation(method)
				: ResolvableType.forMethodReturnType(method, targetClass);
		if (this.batch) {
			type = type.as(List.class).getGeneric(0);
		}
		else if (this.async != null && !KotlinDetector.isSuspendingFunction(method)) {
			type = type.getGeneric(0);
		}
		Class<?> raw = type.resolve(Object.class);
		boolean none = method.getReturnType() == void.class || raw == Void.class || raw.getName().equals("kotlin.Unit");
		return none ? null : (type.resolve() != null) ? type.getType() : Object.class;
	}

	// The type of a suspending function is that of what it continues with.
	private static ResolvableType continuation(Method method) {
		ResolvableType type = ResolvableType
			.forMethodParameter(new MethodParameter(method, method.getParameterCount() - 1))
			.getGeneric(0);
		return (type.getType() instanceof WildcardType wildcard && wildcard.getLowerBounds().length == 1)
				? ResolvableType.forType(wildcard.getLowerBounds()[0]) : type;
	}

	ProtectedListener protect(ListenerSettings settings, ListenerScope scope) {
		OperationResolver operations = new OperationResolver(settings, scope);
		if (this.batch) {
			return new ProtectedBatchListener(settings, operations);
		}
		return new ProtectedRecordListener(settings, operations,
				(this.async != null) ? new AsyncExecution(settings, this.async) : new DirectExecution(settings));
	}

	/**
	 * Why the transaction of transactional mode cannot hold what the method does.
	 * @return the end of a sentence whose subject is the listener, {@code null} if it can
	 */
	@Nullable String transactionalProblem() {
		if (this.async != null) {
			return "is asynchronous, and a transaction ends when its method returns";
		}
		return this.kafkaTransaction
				? "has a Kafka transaction in its container, which commits after the database, so that its output "
						+ "could be lost"
				: null;
	}

}
