package dev.idempotency.autoconfigure;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

import dev.idempotency.store.IdempotencyStore;

/**
 * Matches unless the application has an {@link IdempotencyStore} of its own. Ours is told
 * by where it is declared: one of the application may have its type and its name.
 */
final class OnNoOtherStoreCondition extends SpringBootCondition implements ConfigurationCondition {

	@Override
	public ConfigurationPhase getConfigurationPhase() {
		return ConfigurationPhase.REGISTER_BEAN;
	}

	@Override
	public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
		ConfigurableListableBeanFactory beanFactory = Objects.requireNonNull(context.getBeanFactory());
		List<String> others = Arrays.stream(beanFactory.getBeanNamesForType(IdempotencyStore.class, true, false))
			.filter((name) -> !isOurs(beanFactory, name))
			.toList();
		ConditionMessage.Builder message = ConditionMessage.forCondition("No other IdempotencyStore");
		return others.isEmpty() ? ConditionOutcome.match(message.because("there is none"))
				: ConditionOutcome.noMatch(message.found("store", "stores").items(others));
	}

	private static boolean isOurs(ConfigurableListableBeanFactory beanFactory, String name) {
		return beanFactory.containsBeanDefinition(name)
				&& beanFactory.getBeanDefinition(name) instanceof AnnotatedBeanDefinition definition
				&& definition.getFactoryMethodMetadata() != null
				&& definition.getFactoryMethodMetadata()
					.getDeclaringClassName()
					.equals(IdempotencyJdbcAutoConfiguration.class.getName());
	}

}
