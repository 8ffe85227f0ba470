package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.ProtectedListeners.ProtectedListener;

/**
 * Advises the methods that {@link Idempotent} marks. It has no dependencies, so that it
 * exists before every listener bean: what a method needs comes with the delivery.
 *
 * @since 0.1.0
 */
@SuppressWarnings("serial")
public final class IdempotentAdvisor extends AbstractPointcutAdvisor {

	private final transient IdempotentPointcut pointcut = new IdempotentPointcut();

	private final transient UnprotectedCalls unprotected = new UnprotectedCalls();

	private final transient MethodInterceptor advice = this::invoke;

	public IdempotentAdvisor() {
		// Outside the transaction advisor, which is the last.
		setOrder(Ordered.LOWEST_PRECEDENCE - 1000);
	}

	private @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Delivery delivery = Delivery.current();
		if (delivery == null) {
			this.unprotected.check(invocation);
			return invocation.proceed();
		}
		ProtectedListener listener = delivery.listener(invocation.getMethod());
		if (listener == null) {
			return invocation.proceed();
		}
		delivery.unblock();
		try {
			return listener.invoke(invocation, delivery);
		}
		catch (RuntimeException ex) {
			if (delivery.isBlockedBy(ex)) {
				throw new BlockedSignal(ex);
			}
			throw ex;
		}
	}

	@Override
	public Pointcut getPointcut() {
		return this.pointcut;
	}

	@Override
	public Advice getAdvice() {
		return this.advice;
	}

	static boolean isMarked(Method method, Class<?> targetClass) {
		return AnnotatedElementUtils.hasAnnotation(AopUtils.getMostSpecificMethod(method, targetClass),
				Idempotent.class) || AnnotatedElementUtils.hasAnnotation(targetClass, Idempotent.class);
	}

	boolean isUsed() {
		return this.pointcut.matched;
	}

	Set<Method> markedMethods() {
		return Set.copyOf(this.pointcut.marked);
	}

	/**
	 * Methods that are marked themselves or by their class.
	 */
	private static final class IdempotentPointcut extends StaticMethodMatcherPointcut {

		private final Set<Method> marked = ConcurrentHashMap.newKeySet();

		private volatile boolean matched;

		IdempotentPointcut() {
			setClassFilter((type) -> AnnotationUtils.isCandidateClass(type, Idempotent.class));
		}

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			Method specific = AopUtils.getMostSpecificMethod(method, targetClass);
			if (AnnotatedElementUtils.hasAnnotation(specific, Idempotent.class)) {
				this.marked.add(specific);
				this.matched = true;
				return true;
			}
			boolean markedByClass = AnnotatedElementUtils.hasAnnotation(targetClass, Idempotent.class);
			this.matched |= markedByClass;
			return markedByClass;
		}

	}

	/**
	 * Leaves a method whose delivery is blocked. The {@link DeliveryListener} throws the
	 * reason to the container. An error, because the listener adapter passes each
	 * exception to the {@code KafkaListenerErrorHandler} of the application and sends the
	 * result as a reply.
	 */
	private static final class BlockedSignal extends Error {

		BlockedSignal(RuntimeException reason) {
			super(reason.getMessage(), reason, false, false);
		}

	}

}
