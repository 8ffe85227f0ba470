package dev.idempotency.stream;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.setup.ContainerProtection;

/**
 * Registers the beans that protect idempotent functions of Spring Cloud Stream. Requires
 * the beans that protect listeners and functions.
 *
 * @since 0.1.0
 */
@Configuration(proxyBeanMethods = false)
public final class IdempotentStreamConfiguration {

	@Bean
	static BindingProtection idempotentBindingProtection(ObjectProvider<FunctionProtection> functions,
			ObjectProvider<ContainerProtection> containers, ListableBeanFactory beanFactory) {
		return new BindingProtection(functions, containers, beanFactory);
	}

	@Bean
	BindingStartupCheck idempotentBindingStartupCheck(BindingProtection bindings) {
		return new BindingStartupCheck(bindings);
	}

}
