package dev.idempotency.autoconfigure;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Objects;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.type.AnnotatedTypeMetadata;

import dev.idempotency.autoconfigure.ConditionalOnStoreType.OnStoreType;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;

/**
 * Matches when {@code idempotency.store.type} names the given store. Without the
 * property, it matches every store that can be selected automatically.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(OnStoreType.class)
@interface ConditionalOnStoreType {

	/**
	 * The store.
	 * @return its type
	 */
	StoreType value();

	/**
	 * Whether the store can be selected automatically.
	 * @return {@code false} for a store that the property must name
	 */
	boolean candidate() default true;

	/**
	 * Binds the property instead of comparing text, because an environment variable
	 * cannot contain the hyphen of {@code in-memory}.
	 */
	final class OnStoreType extends SpringBootCondition {

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

}
