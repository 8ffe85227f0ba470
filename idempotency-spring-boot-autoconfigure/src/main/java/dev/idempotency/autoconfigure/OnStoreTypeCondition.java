package dev.idempotency.autoconfigure;

import java.util.Objects;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.type.AnnotatedTypeMetadata;

import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;

/**
 * Reads the property as the properties do: an environment variable cannot say
 * {@code in-memory}.
 */
final class OnStoreTypeCondition extends SpringBootCondition {

	@Override
	public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
		MergedAnnotation<ConditionalOnStoreType> annotation = metadata.getAnnotations()
			.get(ConditionalOnStoreType.class);
		StoreType named = Binder.get(context.getEnvironment())
			.bind("idempotency.store.type", StoreType.class)
			.orElse(null);
		boolean matches = (named != null) ? named == annotation.getEnum("value", StoreType.class)
				: annotation.getBoolean("candidate");
		return new ConditionOutcome(matches, ConditionMessage.forCondition(ConditionalOnStoreType.class)
			.because("'idempotency.store.type' is " + Objects.requireNonNullElse(named, "not set")));
	}

}
