/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

import dev.idempotency.ListenerCensus;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.method.RollbackOnlyAdvisor;
import dev.idempotency.listener.range.TopicIds;
import dev.idempotency.reconcile.Reconciliation;

/**
 * Registers the beans that protect idempotent Kafka listeners. Requires a
 * {@link ListenerSettingsFactory} bean, which is created only if the application has an
 * idempotent listener.
 *
 * @since 0.1.0
 */
@Configuration(proxyBeanMethods = false)
@Import({ IdempotentListenerConfiguration.AutoProxyRegistrar.class, IdempotentAdvisor.class, RollbackOnlyAdvisor.class,
		ListenerRegistryPostProcessor.class, FinalClassCheck.class, BlockedRecordHandling.class,
		ContainerInstallations.class, TopicRetentions.class, TopicIds.class, GroupMembers.class, ListenerScopes.class,
		ManualAcknowledgments.class, ContainerProtection.class, ListenerDeclarations.class,
		ListenerStartupCheck.class })
public final class IdempotentListenerConfiguration {

	@Bean
	ListenerCensus idempotencyListenerCensus() {
		return new ListenerCensus();
	}

	@Bean
	Reconciliation idempotencyReconciliation() {
		return new Reconciliation();
	}

	/**
	 * Registers an auto-proxy creator, because Spring Boot registers none if
	 * {@code spring.aop.auto} is {@code false}. It creates class proxies unless the
	 * application has chosen otherwise.
	 *
	 * @param environment the environment of the application
	 */
	record AutoProxyRegistrar(Environment environment) implements ImportBeanDefinitionRegistrar {

		@Override
		public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
			AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
			if (this.environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true)) {
				AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
			}
		}

	}

}
