package dev.idempotency.listener.function;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Advises the functions whose bean method has {@link Idempotent}. The
 * {@link IdempotentAdvisor} advises those whose class has it.
 */
final class FunctionPostProcessor implements BeanPostProcessor {

	private static final Log logger = LogFactory.getLog(FunctionPostProcessor.class);

	private final ConfigurableListableBeanFactory beanFactory;

	// By the name of the bean.
	private final Map<String, Class<?>> advised = new ConcurrentHashMap<>();

	FunctionPostProcessor(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	// The names of the idempotent function beans that exist.
	Set<String> names() {
		return Set.copyOf(this.advised.keySet());
	}

	// Return the class whose calls are advised.
	@Nullable Class<?> advised(String name) {
		return this.advised.get(name);
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (!FunctionProtection.isFunction(bean)) {
			return bean;
		}
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		Method method = FunctionProtection.method(bean, targetClass);
		if (FunctionProtection.annotation(beanName, method, targetClass, this.beanFactory) == null) {
			return bean;
		}
		this.advised.put(beanName, targetClass);
		if (method == null || IdempotentAdvisor.isMarked(method, targetClass)) {
			return bean;
		}
		ProxyFactory factory = new ProxyFactory(bean);
		// Other beans may inject the class.
		factory.setProxyTargetClass(
				!AopUtils.isAopProxy(bean) && !targetClass.isHidden() && !Modifier.isFinal(targetClass.getModifiers()));
		factory.addAdvice(new FunctionAdvice(beanName, method));
		return factory.getProxy(targetClass.getClassLoader());
	}

	private static final class FunctionAdvice implements MethodInterceptor {

		private final String name;

		private final Method method;

		private volatile boolean warned;

		FunctionAdvice(String name, Method method) {
			this.name = name;
			this.method = method;
		}

		@Override
		public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
			if (!invocation.getMethod().getName().equals(this.method.getName())) {
				return invocation.proceed();
			}
			Delivery delivery = Delivery.current();
			ProtectedListener listener = (delivery != null) ? delivery.listener(this.method) : null;
			if (delivery != null && listener != null) {
				return IdempotentAdvisor.invoke(listener, invocation, delivery);
			}
			if (!this.warned && delivery == null && KafkaUtils.getConsumerGroupId() != null) {
				this.warned = true;
				logger.warn("@Idempotent on the function " + this.name + " is ignored: a thread of the consumer group '"
						+ KafkaUtils.getConsumerGroupId() + "' called it, but no binding of that consumer names it in "
						+ "its function definition, so it runs for each delivery. Bind the function itself instead of "
						+ "a router, or call it within IdempotencyTemplate.execute");
			}
			return invocation.proceed();
		}

	}

}
