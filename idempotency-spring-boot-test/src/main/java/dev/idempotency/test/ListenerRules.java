/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.properties.CanBeAnnotated;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.KafkaListeners;

import dev.idempotency.Idempotent;
import dev.idempotency.NotIdempotent;

/**
 * Rules of ArchUnit for the listeners of an application. They need the dependency
 * {@code com.tngtech.archunit:archunit}.
 *
 * @since 0.1.0
 */
public final class ListenerRules {

	/**
	 * Each listener method is {@link Idempotent} or {@link NotIdempotent}, or its class
	 * is. The property {@code idempotency.require=declared} checks the same when the
	 * application starts, also for listeners that are registered by code.
	 */
	public static final ArchRule LISTENERS_DECLARE_THEIR_PROTECTION = ArchRuleDefinition.methods()
		.that()
		.areMetaAnnotatedWith(KafkaListener.class)
		.or()
		.areMetaAnnotatedWith(KafkaListeners.class)
		.or()
		.areMetaAnnotatedWith(KafkaHandler.class)
		.should(new ArchCondition<JavaMethod>("be @Idempotent, or @NotIdempotent with a reason") {

			@Override
			public void check(JavaMethod method, ConditionEvents events) {
				events.add(new SimpleConditionEvent(method, declares(method) || declares(method.getOwner()),
						method.getFullName() + " is neither @Idempotent nor @NotIdempotent"));
			}

		})
		.allowEmptyShould(true)
		.because("a record may be delivered twice to each listener");

	private ListenerRules() {
	}

	private static boolean declares(CanBeAnnotated element) {
		return element.isMetaAnnotatedWith(Idempotent.class) || element.isMetaAnnotatedWith(NotIdempotent.class);
	}

}
