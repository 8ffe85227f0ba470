package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.messaging.Message;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.interceptor.TransactionInterceptor;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * What must hold for a listener before it starts, because nothing would show it later.
 */
final class ListenerChecks {

	private ListenerChecks() {
	}

	static void check(Object bean, Method method, MessageListenerContainer container, boolean autoCommit) {
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		String where = ListenerSettingsFactory.where(method, targetClass);
		fail(adviceProblem(bean, method), where);
		fail(signatureProblem(method), where);
		fail(containerProblem(container), where);
		if (autoCommit) {
			fail(new Problem("its consumer commits offsets by itself, also of records that wait",
					"Remove 'enable.auto.commit' from the consumer's properties."), where);
		}
	}

	// One asynchronous method makes the container of all of them asynchronous.
	static void checkSynchronous(Method method, Class<?> targetClass) {
		Class<?> type = method.getReturnType();
		if (Future.class.isAssignableFrom(type) || isAsyncType(type) || KotlinDetector.isSuspendingFunction(method)) {
			fail(new Problem("it, or a method of the same listener class, is asynchronous, which is not supported yet",
					"Return the result itself, or remove @Idempotent."),
					ListenerSettingsFactory.where(method, targetClass));
		}
	}

	private static void fail(@Nullable Problem problem, String where) {
		if (problem != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " cannot be protected: " + problem.what() + ".",
					problem.action());
		}
	}

	private static @Nullable Problem adviceProblem(Object bean, Method method) {
		if (!AopUtils.isAopProxy(bean)) {
			return new Problem("its bean is not a Spring proxy",
					"Let Spring create the bean, and not before its post-processors: nothing that a post-processor "
							+ "needs may depend on it.");
		}
		List<Advisor> advisors = List.of(((Advised) bean).getAdvisors());
		if (advisors.stream().anyMatch(IdempotentAdvisor.class::isInstance) && advisors.stream()
			.takeWhile((advisor) -> !(advisor instanceof IdempotentAdvisor))
			.anyMatch((advisor) -> advisor.getAdvice() instanceof TransactionInterceptor)) {
			return new Problem(
					"@Transactional begins its transaction outside, and would commit after the record is completed",
					"Do not set an order on @EnableTransactionManagement.");
		}
		if (advisors.stream().noneMatch(IdempotentAdvisor.class::isInstance)) {
			return new Problem("its bean was created before the advisor of @Idempotent",
					"Nothing that a post-processor or another advisor needs may depend on the bean.");
		}
		int modifiers = method.getModifiers();
		if (Modifier.isFinal(modifiers) || Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
			return new Problem("the method is " + Modifier.toString(modifiers) + ", so a proxy cannot intercept it",
					"Make the method at least package-private, not static and not final.");
		}
		return null;
	}

	private static @Nullable Problem signatureProblem(Method method) {
		Class<?> type = method.getReturnType();
		if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)) {
			return new Problem("@Async takes it off the thread of the container, so the record would be acknowledged "
					+ "before it is processed", "Remove @Async.");
		}
		if (Message.class.isAssignableFrom(type)) {
			return new Problem("it returns a Message, whose headers belong to the first delivery only",
					"Return the payload; the reply gets the current correlation id by itself.");
		}
		return null;
	}

	private static boolean isAsyncType(Class<?> type) {
		return CompletionStage.class.isAssignableFrom(type)
				|| (ReactiveAdapterRegistry.getSharedInstance().hasAdapters()
						&& ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null);
	}

	private static @Nullable Problem containerProblem(MessageListenerContainer container) {
		if (!(container instanceof AbstractMessageListenerContainer<?, ?>)) {
			return new Problem(
					"its container is a " + container.getClass().getSimpleName()
							+ ", which archives a record after a few deliveries instead of waiting with it",
					"Use a container of a consumer group.");
		}
		Object listener = container.getContainerProperties().getMessageListener();
		if (!(ContainerProtection.target(listener) instanceof MessageListener<?, ?>)) {
			return new Problem("it is a batch listener, which is not supported yet",
					"Set 'batch' of @KafkaListener to \"false\", or remove @Idempotent.");
		}
		for (Advice advice : container.getContainerProperties().getAdviceChain()) {
			if (advice instanceof TransactionInterceptor) {
				return new Problem("the advice chain of its container begins a transaction outside",
						"Put @Transactional on the method instead.");
			}
		}
		if (container.getContainerProperties().getKafkaAwareTransactionManager() != null) {
			return new Problem(
					"its container has a Kafka transaction, which commits after the record would be completed, "
							+ "so that its output could be lost; this is not supported yet",
					"Use a container factory without a Kafka transaction manager, or remove @Idempotent.");
		}
		return null;
	}

	/**
	 * What is wrong, and what to do.
	 */
	private record Problem(String what, String action) {

	}

}
