package dev.idempotency.autoconfigure;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.context.annotation.Conditional;

import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;

/**
 * Matches when {@code idempotency.store.type} names the store, in any spelling that the
 * property takes; without it, when the store may be chosen for being the only candidate.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(OnStoreTypeCondition.class)
@interface ConditionalOnStoreType {

	/**
	 * The store.
	 * @return its type
	 */
	StoreType value();

	/**
	 * Whether it is used without being named.
	 * @return {@code false} for a store that has to be asked for
	 */
	boolean candidate() default true;

}
