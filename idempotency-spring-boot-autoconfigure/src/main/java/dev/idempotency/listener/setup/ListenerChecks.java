package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.List;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AbstractShareKafkaMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.adapter.FilteringBatchMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.interceptor.TransactionInterceptor;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.async.AsyncResult;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.function.IdempotentFunction;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.listener.springkafka.RecordFilters;

/**
 * Rejects listeners that cannot be protected before they start: the proxy of the bean,
 * the container, the signature of the method, and the settings of the consumer.
 */
final class ListenerChecks {

	private ListenerChecks() {
	}

	static void check(Object bean, Method method, MessageListenerContainer container, boolean autoCommit) {
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		String where = ListenerSettings.where(method, targetClass);
		ListenerShape shape = ListenerShape.of(method, targetClass, container);
		checkProxy(bean, method, where);
		checkContainer(container, where);
		checkThread(method, where);
		checkKafkaTransaction(shape, container, where);
		checkResult(method, targetClass, shape, where);
		checkAsync(shape, where);
		if (shape.batch()) {
			checkBatch(method, container, where);
		}
		if (autoCommit) {
			throw refusal(where, "its consumer commits offsets by itself, also those of blocked records",
					"Remove 'enable.auto.commit' from the consumer's properties.");
		}
	}

	// An asynchronous method makes the container of all methods asynchronous, so that
	// records of the other methods would not be acknowledged when they return.
	static void checkNotMixed(List<Method> methods, Class<?> targetClass) {
		long asynchronous = methods.stream().filter((method) -> AsyncResult.of(method) != null).count();
		if (asynchronous > 0 && asynchronous < methods.size()) {
			throw refusal(ListenerSettings.where(methods.get(0), targetClass),
					"some methods of its listener class are asynchronous and others are not",
					"Let all of them return a CompletableFuture or a Mono, or none.");
		}
	}

	static void check(IdempotentFunction function, MessageListenerContainer container) {
		String where = function.name();
		checkContainer(container, where);
		checkKafkaTransaction(ListenerShape.of(function.method(), function.targetClass(), container), container, where);
		if (ManualAcknowledgments.isManual(container.getContainerProperties().getAckMode())) {
			throw refusal(where,
					"it is a function whose binding has the ack mode " + container.getContainerProperties().getAckMode()
							+ ", in which the function itself would acknowledge its records",
					"Remove 'ack-mode' from the consumer properties of the binding.");
		}
	}

	// The description is the end of a sentence whose subject is the listener.
	static IdempotencyConfigurationException refusal(String where, String description, String action) {
		return new IdempotencyConfigurationException(
				"The idempotent listener " + where + " cannot be protected: " + description + ".", action);
	}

	private static void checkProxy(Object bean, Method method, String where) {
		if (!AopUtils.isAopProxy(bean)) {
			throw refusal(where, "its bean is not a Spring proxy",
					"Let Spring create the bean after its post-processors: nothing that a post-processor needs may "
							+ "depend on the bean.");
		}
		List<Advisor> advisors = List.of(((Advised) bean).getAdvisors());
		if (advisors.stream().noneMatch(IdempotentAdvisor.class::isInstance)) {
			throw refusal(where, "its bean was created before the advisor of @Idempotent",
					"Nothing that a post-processor or another advisor needs may depend on the bean.");
		}
		Stream<Advisor> outer = advisors.stream().takeWhile((advisor) -> !(advisor instanceof IdempotentAdvisor));
		if (outer.anyMatch((advisor) -> advisor.getAdvice() instanceof TransactionInterceptor)) {
			throw refusal(where,
					"@Transactional begins its transaction outside, and would commit after the record is completed",
					"Do not set an order on @EnableTransactionManagement.");
		}
		int modifiers = method.getModifiers();
		if (Modifier.isFinal(modifiers) || Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
			throw refusal(where, "the method is " + Modifier.toString(modifiers) + ", so a proxy cannot intercept it",
					"Make the method at least package-private, not static and not final. In Kotlin, declare it 'open', "
							+ "or use the kotlin-spring plugin.");
		}
	}

	static void checkType(MessageListenerContainer container, String where) {
		if (!(container instanceof AbstractMessageListenerContainer<?, ?>)) {
			throw refusal(where, "its container is a " + container.getClass().getSimpleName()
					+ ((container instanceof AbstractShareKafkaMessageListenerContainer<?, ?>)
							? ", whose broker archives a record after a few deliveries, even if its handler never failed"
							: ", whose handling of errors cannot be decorated"),
					"Use a container of a consumer group.");
		}
	}

	private static void checkContainer(MessageListenerContainer container, String where) {
		if (Stream.of(container.getContainerProperties().getAdviceChain())
			.anyMatch(TransactionInterceptor.class::isInstance)) {
			throw refusal(where, "the advice chain of its container begins a transaction outside",
					"Put @Transactional on the method instead.");
		}
		if (container.getContainerProperties().isFixTxOffsets()) {
			throw refusal(where,
					"the property 'fixTxOffsets' of its container commits the position of the consumer, also behind "
							+ "records that are not processed",
					"Do not set it: the lag that it corrects is that of the markers of transactions.");
		}
		BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(container.getContainerProperties());
		// A later version of Spring Kafka will not have this property any more.
		if (properties.isReadableProperty("transactionManager")
				&& properties.getPropertyValue("transactionManager") != null) {
			throw refusal(where,
					"the property 'transactionManager' of its container begins a transaction outside, after whose "
							+ "rollbacks a blocked record would be given up",
					"Put @Transactional on the method instead. Set a Kafka transaction manager as "
							+ "'kafkaAwareTransactionManager'.");
		}
	}

	private static void checkThread(Method method, String where) {
		if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)) {
			throw refusal(where, "@Async moves it to another thread than that of the container, so the record would be "
					+ "acknowledged before it is processed", "Remove @Async.");
		}
	}

	private static void checkKafkaTransaction(ListenerShape shape, MessageListenerContainer container, String where) {
		if (!shape.kafkaTransaction()) {
			return;
		}
		if (!(container.getContainerProperties()
			.getKafkaAwareTransactionManager() instanceof ConfigurableTransactionManager)) {
			throw refusal(where, "the Kafka transaction manager of its container does not notify of commits",
					"Use Spring Kafka's KafkaTransactionManager.");
		}
		if (container.getContainerProperties().getAckMode() == AckMode.MANUAL_IMMEDIATE) {
			throw refusal(where,
					"its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE, in which the key of a "
							+ "record would be completed even if the method does not acknowledge the record",
					"Set the ack mode to BATCH or RECORD, or use a container factory without a Kafka transaction "
							+ "manager.");
		}
	}

	private static void checkResult(Method method, Class<?> targetClass, ListenerShape shape, String where) {
		Class<?> type = method.getReturnType();
		if (shape.async() == null && AsyncResult.isAsynchronous(type)) {
			throw refusal(where, "it returns a " + type.getSimpleName() + ", which Spring Kafka does not wait for",
					"Return a CompletableFuture or a Mono.");
		}
		Type result = (shape.batch() && !List.class.isAssignableFrom(type)) ? null
				: shape.resultType(method, targetClass);
		if (result != null && Message.class.isAssignableFrom(ResolvableType.forType(result).resolve(Object.class))) {
			throw refusal(where, "it returns a Message, whose headers belong to the first delivery only",
					"Return the payload; the reply gets the current correlation id by itself.");
		}
	}

	private static void checkAsync(ListenerShape shape, String where) {
		if (shape.async() != null && shape.batch()) {
			throw refusal(where,
					"it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when it fails",
					"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
		}
		if (shape.async() != null && shape.kafkaTransaction()) {
			throw refusal(where,
					"it is asynchronous, but its container has a Kafka transaction, which ends when the method returns",
					"Return the result itself, or use a container factory without a Kafka transaction manager.");
		}
	}

	private static void checkBatch(Method method, MessageListenerContainer container, String where) {
		if (method.getReturnType() != void.class && method.getReturnType() != List.class) {
			throw refusal(where,
					"it is a batch listener that returns a " + method.getReturnType().getSimpleName()
							+ ", which cannot be split by record",
					"Return a List with one element for each record, or nothing.");
		}
		boolean records = false;
		for (int i = 0; i < method.getParameterCount(); i++) {
			MethodParameter parameter = new MethodParameter(method, i);
			Class<?> type = parameter.getParameterType();
			records |= type == ConsumerRecords.class || type == List.class;
			if (!isAllowed(parameter)) {
				throw refusal(where,
						"it is a batch listener with a parameter of type " + type.getSimpleName()
								+ ", from which single records cannot be removed",
						"Use List parameters (also for headers), ConsumerRecords, Acknowledgment and Consumer.");
			}
		}
		if (!records) {
			throw refusal(where, "its container delivers batches, but the method accepts single records",
					"Set 'batch' of @KafkaListener to \"false\", or declare a List parameter.");
		}
		Object listener = ListenerShape.listener(container);
		String problem = (listener instanceof FilteringBatchMessageListenerAdapter<?, ?>)
				? RecordFilters.problem(listener) : null;
		if (problem != null) {
			throw refusal(where, problem, "Remove the filter, and drop records in a BatchInterceptor.");
		}
	}

	private static boolean isAllowed(MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		Header header = parameter.getParameterAnnotation(Header.class);
		return type == List.class || type == ConsumerRecords.class || Acknowledgment.class.isAssignableFrom(type)
				|| Consumer.class.isAssignableFrom(type)
				|| (header != null && KafkaHeaders.GROUP_ID.equals(header.value()));
	}

}
