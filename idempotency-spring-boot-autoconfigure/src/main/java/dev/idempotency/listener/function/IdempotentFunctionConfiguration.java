package dev.idempotency.listener.function;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;

/**
 * Registers the beans that protect idempotent functions.
 *
 * @since 0.1.0
 */
@Configuration(proxyBeanMethods = false)
public final class IdempotentFunctionConfiguration {

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static FunctionPostProcessor idempotentFunctionPostProcessor(ConfigurableListableBeanFactory beanFactory) {
		return new FunctionPostProcessor(beanFactory);
	}

	@Bean
	FunctionProtection idempotentFunctionProtection(ConfigurableListableBeanFactory beanFactory) {
		return new FunctionProtection(beanFactory);
	}

}
