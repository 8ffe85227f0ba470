package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;

import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
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
		fail(containerProblem(container), where);
		fail(threadProblem(method), where);
		fail(ShapeChecks.problem(method, targetClass, ListenerShape.of(method, container), container), where);
		if (autoCommit) {
			fail(new Problem("its consumer commits offsets by itself, also of records that wait",
					"Remove 'enable.auto.commit' from the consumer's properties."), where);
		}
	}

	// One asynchronous method makes the container of all of them asynchronous: records of
	// the others are not acknowledged by returning.
	static void checkNotMixed(List<Method> methods, Class<?> targetClass) {
		long asynchronous = methods.stream().filter((method) -> AsyncResult.of(method) != null).count();
		if (asynchronous > 0 && asynchronous < methods.size()) {
			fail(new Problem("some methods of its listener class are asynchronous and others are not",
					"Let all of them return a CompletableFuture or a Mono, or none."),
					ListenerSettingsFactory.where(methods.get(0), targetClass));
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
					"Make the method at least package-private, not static and not final. In Kotlin, declare it 'open', "
							+ "or use the kotlin-spring plugin.");
		}
		return null;
	}

	private static @Nullable Problem threadProblem(Method method) {
		if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)) {
			return new Problem("@Async takes it off the thread of the container, so the record would be acknowledged "
					+ "before it is processed", "Remove @Async.");
		}
		return null;
	}

	private static @Nullable Problem containerProblem(MessageListenerContainer container) {
		if (!(container instanceof AbstractMessageListenerContainer<?, ?>)) {
			return new Problem(
					"its container is a " + container.getClass().getSimpleName()
							+ ", which archives a record after a few deliveries instead of waiting with it",
					"Use a container of a consumer group.");
		}
		for (Advice advice : container.getContainerProperties().getAdviceChain()) {
			if (advice instanceof TransactionInterceptor) {
				return new Problem("the advice chain of its container begins a transaction outside",
						"Put @Transactional on the method instead.");
			}
		}
		return null;
	}

	/**
	 * What is wrong, and what to do.
	 */
	record Problem(String what, String action) {

	}

}
