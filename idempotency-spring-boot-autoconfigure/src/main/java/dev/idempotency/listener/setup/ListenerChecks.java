package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
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
		ListenerShape shape = ListenerShape.of(method, container);
		fail(proxyProblem(bean, method), where);
		fail(containerProblem(container), where);
		fail(threadProblem(method), where);
		fail(kafkaTransactionProblem(shape, container), where);
		fail(resultProblem(method, targetClass, shape), where);
		fail(asyncProblem(shape), where);
		fail(batchProblem(method, shape, container), where);
		if (autoCommit) {
			fail(new Problem("its consumer commits offsets by itself, also those of blocked records",
					"Remove 'enable.auto.commit' from the consumer's properties."), where);
		}
	}

	// An asynchronous method makes the container of all methods asynchronous, so that
	// records of the other methods would not be acknowledged when they return.
	static void checkNotMixed(List<Method> methods, Class<?> targetClass) {
		long asynchronous = methods.stream().filter((method) -> AsyncResult.of(method) != null).count();
		if (asynchronous > 0 && asynchronous < methods.size()) {
			fail(new Problem("some methods of its listener class are asynchronous and others are not",
					"Let all of them return a CompletableFuture or a Mono, or none."),
					ListenerSettings.where(methods.get(0), targetClass));
		}
	}

	static void check(IdempotentFunction function, MessageListenerContainer container) {
		String where = function.name();
		fail(containerProblem(container), where);
		fail(kafkaTransactionProblem(ListenerShape.of(function.method(), container), container), where);
		if (ManualAcknowledgments.isManual(container.getContainerProperties().getAckMode())) {
			fail(new Problem(
					"it is a function whose binding has the ack mode " + container.getContainerProperties().getAckMode()
							+ ", in which the function itself would acknowledge its records",
					"Remove 'ack-mode' from the consumer properties of the binding."), where);
		}
	}

	private static void fail(@Nullable Problem problem, String where) {
		if (problem != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " cannot be protected: " + problem.description() + ".",
					problem.action());
		}
	}

	private static @Nullable Problem proxyProblem(Object bean, Method method) {
		if (!AopUtils.isAopProxy(bean)) {
			return new Problem("its bean is not a Spring proxy",
					"Let Spring create the bean after its post-processors: nothing that a post-processor needs may "
							+ "depend on the bean.");
		}
		List<Advisor> advisors = List.of(((Advised) bean).getAdvisors());
		if (advisors.stream().noneMatch(IdempotentAdvisor.class::isInstance)) {
			return new Problem("its bean was created before the advisor of @Idempotent",
					"Nothing that a post-processor or another advisor needs may depend on the bean.");
		}
		Stream<Advisor> outer = advisors.stream().takeWhile((advisor) -> !(advisor instanceof IdempotentAdvisor));
		if (outer.anyMatch((advisor) -> advisor.getAdvice() instanceof TransactionInterceptor)) {
			return new Problem(
					"@Transactional begins its transaction outside, and would commit after the record is completed",
					"Do not set an order on @EnableTransactionManagement.");
		}
		int modifiers = method.getModifiers();
		if (Modifier.isFinal(modifiers) || Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
			return new Problem("the method is " + Modifier.toString(modifiers) + ", so a proxy cannot intercept it",
					"Make the method at least package-private, not static and not final. In Kotlin, declare it 'open', "
							+ "or use the kotlin-spring plugin.");
		}
		return null;
	}

	private static @Nullable Problem containerProblem(MessageListenerContainer container) {
		if (!(container instanceof AbstractMessageListenerContainer<?, ?>)) {
			return new Problem("its container is a " + container.getClass().getSimpleName()
					+ ", whose broker archives a record after a few deliveries, even if its handler never failed",
					"Use a container of a consumer group.");
		}
		if (Stream.of(container.getContainerProperties().getAdviceChain())
			.anyMatch(TransactionInterceptor.class::isInstance)) {
			return new Problem("the advice chain of its container begins a transaction outside",
					"Put @Transactional on the method instead.");
		}
		return null;
	}

	private static @Nullable Problem threadProblem(Method method) {
		if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)) {
			return new Problem("@Async moves it to another thread than that of the container, so the record would be "
					+ "acknowledged before it is processed", "Remove @Async.");
		}
		return null;
	}

	private static @Nullable Problem kafkaTransactionProblem(ListenerShape shape, MessageListenerContainer container) {
		if (!shape.kafkaTransaction()) {
			return null;
		}
		if (!(container.getContainerProperties()
			.getKafkaAwareTransactionManager() instanceof ConfigurableTransactionManager)) {
			return new Problem("the Kafka transaction manager of its container does not notify of commits",
					"Use Spring Kafka's KafkaTransactionManager.");
		}
		if (container.getContainerProperties().getAckMode() == AckMode.MANUAL_IMMEDIATE) {
			return new Problem(
					"its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE, in which the key of a "
							+ "record would be completed even if the method does not acknowledge the record",
					"Set the ack mode to BATCH or RECORD, or use a container factory without a Kafka transaction "
							+ "manager.");
		}
		return null;
	}

	private static @Nullable Problem resultProblem(Method method, Class<?> targetClass, ListenerShape shape) {
		Class<?> type = method.getReturnType();
		if (shape.async() == null && (Future.class.isAssignableFrom(type)
				|| CompletionStage.class.isAssignableFrom(type) || AsyncResult.isReactive(type))) {
			return new Problem("it returns a " + type.getSimpleName() + ", which Spring Kafka does not wait for",
					"Return a CompletableFuture or a Mono.");
		}
		Type result = (shape.batch() && !List.class.isAssignableFrom(type)) ? null
				: shape.resultType(method, targetClass);
		if (result != null && Message.class.isAssignableFrom(ResolvableType.forType(result).resolve(Object.class))) {
			return new Problem("it returns a Message, whose headers belong to the first delivery only",
					"Return the payload; the reply gets the current correlation id by itself.");
		}
		return null;
	}

	private static @Nullable Problem asyncProblem(ListenerShape shape) {
		if (shape.async() == null) {
			return null;
		}
		if (shape.batch()) {
			return new Problem(
					"it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when it fails",
					"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
		}
		return shape.kafkaTransaction() ? new Problem(
				"it is asynchronous, but its container has a Kafka transaction, which ends when the method returns",
				"Return the result itself, or use a container factory without a Kafka transaction manager.") : null;
	}

	private static @Nullable Problem batchProblem(Method method, ListenerShape shape,
			MessageListenerContainer container) {
		if (!shape.batch()) {
			return null;
		}
		if (method.getReturnType() != void.class && method.getReturnType() != List.class) {
			return new Problem(
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
				return new Problem(
						"it is a batch listener with a parameter of type " + type.getSimpleName()
								+ ", from which single records cannot be removed",
						"Use List parameters (also for headers), ConsumerRecords, Acknowledgment and Consumer.");
			}
		}
		if (!records) {
			return new Problem("its container delivers batches, but the method accepts single records",
					"Set 'batch' of @KafkaListener to \"false\", or declare a List parameter.");
		}
		Object listener = ListenerShape.listener(container);
		String problem = (listener instanceof FilteringBatchMessageListenerAdapter<?, ?>)
				? RecordFilters.problem(listener) : null;
		return (problem != null)
				? new Problem(problem, "Do not override filterBatch, or filter in 'condition' of @Idempotent.") : null;
	}

	private static boolean isAllowed(MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		Header header = parameter.getParameterAnnotation(Header.class);
		return type == List.class || type == ConsumerRecords.class || Acknowledgment.class.isAssignableFrom(type)
				|| Consumer.class.isAssignableFrom(type)
				|| (header != null && KafkaHeaders.GROUP_ID.equals(header.value()));
	}

	/**
	 * The reason why a listener cannot be protected, and the fix.
	 *
	 * @param description the end of a sentence whose subject is the listener
	 * @param action an imperative sentence
	 */
	private record Problem(String description, String action) {

	}

}
