/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.stream.Collectors;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.autoconfigure.IdempotencyKafkaAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyProperties;
import dev.idempotency.producer.IdempotencyKeys;
import dev.idempotency.reconcile.Reconciliation;

/**
 * {@link AutoConfiguration Auto-configuration} for {@link DuplicateDeliveries},
 * {@link RecordedDeliveries} and {@link StoreFaults}.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { KafkaAutoConfiguration.class, IdempotencyKafkaAutoConfiguration.class })
@ConditionalOnBean(IdempotencyProperties.class)
public final class IdempotencyToolsAutoConfiguration {

	@Bean
	KnownKeys idempotencyTestKnownKeys() {
		return new KnownKeys();
	}

	@Bean
	StoreFaults idempotencyTestStoreFaults(KnownKeys keys, IdempotencyProperties properties) {
		return new StoreFaults(keys, properties.store().timeout());
	}

	// Static and without direct dependencies, because a post-processor is created before
	// other beans.
	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static StoreFaultsPostProcessor idempotencyTestStoreFaultsPostProcessor(ObjectProvider<StoreFaults> faults) {
		return new StoreFaultsPostProcessor(faults);
	}

	@Bean
	RecordedDeliveries idempotencyTestRecordedDeliveries(KnownKeys keys, ObjectProvider<Reconciliation> listeners) {
		return new RecordedDeliveries(keys,
				() -> listeners.stream()
					.flatMap((reconciliation) -> reconciliation.listeners().stream())
					.flatMap((listener) -> listener.names().stream())
					.collect(Collectors.toSet()));
	}

	/**
	 * The tools that send records.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(KafkaListenerEndpointRegistry.class)
	static class Kafka {

		@Bean
		@ConditionalOnBean(KafkaAdmin.class)
		DuplicateDeliveries idempotencyTestDuplicateDeliveries(ObjectProvider<KafkaTemplate<?, ?>> templates,
				ObjectProvider<KafkaListenerEndpointRegistry> registries, KafkaAdmin admin,
				ObjectProvider<ConsumerFactory<?, ?>> consumers, RecordedDeliveries recorded,
				IdempotencyProperties properties) {
			String header = properties.key().headers().stream().findFirst().orElse(IdempotencyKeys.HEADER);
			ListenerProgress progress = new ListenerProgress(registries, admin, recorded);
			return new DuplicateDeliveries(templates, progress, new ListenerPayloads(consumers, progress), header);
		}

	}

}
