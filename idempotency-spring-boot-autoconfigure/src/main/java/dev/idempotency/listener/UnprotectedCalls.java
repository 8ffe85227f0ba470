package dev.idempotency.listener;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.support.KafkaUtils;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.Idempotent;

/**
 * Warns, once for each method, that a marked method runs unprotected: it is called on the
 * thread of a consumer, but the container of that consumer was not registered as a
 * listener. The thread of a consumer without a consumer group is not recognized.
 */
final class UnprotectedCalls {

	private static final Log logger = LogFactory.getLog(UnprotectedCalls.class);

	private final Set<Method> checked = ConcurrentHashMap.newKeySet();

	void check(MethodInvocation invocation) {
		String group = KafkaUtils.getConsumerGroupId();
		if (group == null) {
			return;
		}
		Object target = invocation.getThis();
		Class<?> type = (target != null) ? AopUtils.getTargetClass(target) : invocation.getMethod().getDeclaringClass();
		Method method = AopUtils.getMostSpecificMethod(invocation.getMethod(), type);
		if (this.checked.add(method) && concerns(method, type)) {
			logger.warn("@Idempotent of " + ListenerSettingsFactory.where(method, method.getDeclaringClass())
					+ " is ignored: the method was called on a thread of the consumer group '" + group
					+ "' whose container is not registered as a listener, so it runs for each delivery. Put "
					+ "@KafkaListener on the method, or call it within IdempotencyTemplate.execute");
		}
	}

	// The annotation of a class stands for its listener methods, if it has any.
	private static boolean concerns(Method method, Class<?> type) {
		if (AnnotatedElementUtils.hasAnnotation(method, Idempotent.class)) {
			return true;
		}
		Set<Method> listeners = MethodIntrospector.selectMethods(type,
				(ReflectionUtils.MethodFilter) (candidate) -> isMarked(candidate, KafkaListener.class)
						|| isMarked(candidate, KafkaHandler.class));
		if (!listeners.isEmpty()) {
			return listeners.contains(method);
		}
		return !ReflectionUtils.isObjectMethod(method) && !isSeekCallback(method);
	}

	private static boolean isSeekCallback(Method method) {
		return Stream.of(ConsumerSeekAware.class.getMethods())
			.anyMatch((callback) -> callback.getName().equals(method.getName())
					&& Arrays.equals(callback.getParameterTypes(), method.getParameterTypes()));
	}

	private static boolean isMarked(Method method, Class<? extends Annotation> annotation) {
		return AnnotatedElementUtils.hasAnnotation(method, annotation);
	}

}
