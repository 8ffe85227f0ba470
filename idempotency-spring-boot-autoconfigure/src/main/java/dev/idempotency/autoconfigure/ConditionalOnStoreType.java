/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.type.AnnotatedTypeMetadata;

import dev.idempotency.autoconfigure.ConditionalOnStoreType.OnStoreType;

/**
 * Matches when a property names the type of store, and for a candidate also when a store
 * has no type.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(OnStoreType.class)
@interface ConditionalOnStoreType {

	/**
	 * The type.
	 */
	String value();

	/**
	 * Whether the type is selected automatically.
	 */
	boolean candidate() default true;

	final class OnStoreType extends SpringBootCondition {

		@Override
		public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
			MergedAnnotation<ConditionalOnStoreType> annotation = metadata.getAnnotations()
				.get(ConditionalOnStoreType.class);
			StoreNames stores = StoreNames.of(context.getEnvironment());
			boolean matches = stores.mayHave(annotation.getString("value"), annotation.getBoolean("candidate"));
			return new ConditionOutcome(matches, ConditionMessage.forCondition(ConditionalOnStoreType.class)
				.because("the types of the stores are " + stores.types()));
		}

	}

}
