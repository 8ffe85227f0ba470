/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * Registers a store and a template for each name in {@code idempotency.stores}. They are
 * injected only where a {@link Qualifier @Qualifier} has the name, so that the beans of
 * the default store stay the only ones of their types.
 *
 * @param environment the properties
 */
record NamedStores(Environment environment) implements ImportBeanDefinitionRegistrar {

	static String storeBean(String name) {
		return name + "IdempotencyStore";
	}

	static String templateBean(String name) {
		return name + "IdempotencyTemplate";
	}

	@Override
	public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
		for (String name : StoreNames.of(this.environment).names()) {
			registry.registerBeanDefinition(storeBean(name), definition(IdempotencyStore.class, "createStore", name));
			registry.registerBeanDefinition(templateBean(name),
					definition(IdempotencyTemplate.class, "createTemplate", name));
		}
	}

	private static RootBeanDefinition definition(Class<?> type, String method, String name) {
		RootBeanDefinition definition = new RootBeanDefinition(type);
		definition.setFactoryBeanName(StoreRegistry.BEAN);
		definition.setFactoryMethodName(method);
		definition.getConstructorArgumentValues().addGenericArgumentValue(name);
		definition.setDefaultCandidate(false);
		definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
		definition.setDestroyMethodName("(inferred)");
		return definition;
	}

}
