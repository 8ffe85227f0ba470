package dev.idempotency.listener;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.Arrays;

import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.transaction.NoTransactionException;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.support.DefaultTransactionStatus;

import dev.idempotency.Idempotent;

/**
 * Notes whether a listener method with {@code @Transactional} has set its transaction to
 * rollback-only itself. The transaction of transactional mode is around that of the
 * method, and sees only that something inside wants a rollback: also an inner method that
 * failed and whose exception was swallowed, which is a failure.
 *
 * @since 0.1.0
 */
@SuppressWarnings("serial")
public final class RollbackOnlyAdvisor extends AbstractPointcutAdvisor {

	private final transient Pointcut pointcut = new TransactionalPointcut();

	private final transient MethodInterceptor advice = RollbackOnlyAdvisor::invoke;

	public RollbackOnlyAdvisor() {
		// Inside the transaction advisor, which has the same order and is registered
		// before.
		setOrder(Ordered.LOWEST_PRECEDENCE);
	}

	private static @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object result = invocation.proceed();
		Delivery delivery = Delivery.current();
		if (delivery != null && delivery.listener(invocation.getMethod()) != null) {
			delivery.setRollbackOnly(isLocalRollbackOnly());
		}
		return result;
	}

	private static boolean isLocalRollbackOnly() {
		try {
			return TransactionAspectSupport.currentTransactionStatus() instanceof DefaultTransactionStatus status
					&& status.isLocalRollbackOnly();
		}
		catch (NoTransactionException ex) {
			return false;
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

	/**
	 * Methods that are marked, themselves or by their class, and have a transaction.
	 */
	private static final class TransactionalPointcut extends StaticMethodMatcherPointcut {

		private static final String[] TRANSACTIONAL = { "org.springframework.transaction.annotation.Transactional",
				"jakarta.transaction.Transactional" };

		TransactionalPointcut() {
			setClassFilter((type) -> AnnotationUtils.isCandidateClass(type, Idempotent.class));
		}

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			return IdempotentAdvisor.isMarked(method, targetClass)
					&& (isTransactional(AopUtils.getMostSpecificMethod(method, targetClass))
							|| isTransactional(targetClass));
		}

		private static boolean isTransactional(AnnotatedElement element) {
			MergedAnnotations annotations = MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY);
			return Arrays.stream(TRANSACTIONAL).anyMatch(annotations::isPresent);
		}

	}

}
