package dev.idempotency.stream;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import dev.idempotency.listener.FunctionProtection;

/**
 * Registers the beans that protect idempotent functions of Spring Cloud Stream. Requires
 * a {@link FunctionProtection} bean.
 *
 * @since 0.1.0
 */
@Configuration(proxyBeanMethods = false)
public final class IdempotentStreamConfiguration {

	@Bean
	static BindingProtection idempotentBindingProtection(ObjectProvider<FunctionProtection> functions,
			ListableBeanFactory beanFactory) {
		return new BindingProtection(functions, beanFactory);
	}

	@Bean
	BindingStartupCheck idempotentBindingStartupCheck(BindingProtection bindings, FunctionProtection functions) {
		return new BindingStartupCheck(bindings, functions);
	}

}
