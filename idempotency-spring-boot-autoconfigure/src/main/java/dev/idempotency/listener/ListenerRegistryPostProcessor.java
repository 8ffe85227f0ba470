package dev.idempotency.listener;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.AbstractAdvisingBeanPostProcessor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Stands where the endpoint registry registers a container: every container passes there,
 * finished, whether it is of a listener, a retry topic, a dead-letter topic or registered
 * late, and whoever made its factory. Always a class proxy: Spring Kafka injects the
 * registry by its class.
 *
 * @since 0.1.0
 */
@SuppressWarnings("serial")
public final class ListenerRegistryPostProcessor extends AbstractAdvisingBeanPostProcessor {

	private static final String METHOD = "registerListenerContainer";

	private final transient ObjectProvider<ContainerProtection> protection;

	public ListenerRegistryPostProcessor(ObjectProvider<ContainerProtection> protection) {
		this.protection = protection;
		NameMatchMethodPointcut pointcut = new NameMatchMethodPointcut();
		pointcut.setMappedName(METHOD);
		this.advisor = new DefaultPointcutAdvisor(pointcut, new Registration());
		setProxyTargetClass(true);
		setBeforeExistingAdvisors(true);
	}

	@Override
	protected boolean isEligible(Class<?> targetClass) {
		return KafkaListenerEndpointRegistry.class.isAssignableFrom(targetClass);
	}

	/**
	 * Make sure that containers are registered through this post-processor.
	 * @param registry the registry in use
	 * @throws IdempotencyConfigurationException if the registry came too early
	 */
	public static void check(KafkaListenerEndpointRegistry registry) {
		if (registry instanceof Advised advised) {
			for (Advisor advisor : advised.getAdvisors()) {
				if (advisor.getAdvice() instanceof Registration) {
					return;
				}
			}
		}
		throw new IdempotencyConfigurationException(
				"The KafkaListenerEndpointRegistry was created before idempotent listeners could be protected.",
				"Nothing that a bean post-processor needs may depend on the registry.");
	}

	/**
	 * Exchanges the factory argument.
	 */
	private final class Registration implements MethodInterceptor {

		@Override
		public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
			KafkaListenerEndpointRegistry registry = (KafkaListenerEndpointRegistry) invocation.getThis();
			@Nullable Object[] arguments = invocation.getArguments();
			if (registry != null && arguments[1] instanceof KafkaListenerContainerFactory<?> factory) {
				arguments[1] = ContainerProtection.decorate(factory,
						ListenerRegistryPostProcessor.this.protection::getObject, registry);
			}
			return invocation.proceed();
		}

	}

}
