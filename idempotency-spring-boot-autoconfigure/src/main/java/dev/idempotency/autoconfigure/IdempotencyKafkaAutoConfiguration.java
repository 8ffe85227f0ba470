/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Locale;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.listener.setup.IdempotentListenerConfiguration;
import dev.idempotency.listener.setup.ListenerSettingsFactory;
import dev.idempotency.listener.setup.ListenerSettingsFactory.ListenerStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.Serialization;

/**
 * {@link AutoConfiguration Auto-configuration} for idempotent Kafka listeners.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyAutoConfiguration.class,
		afterName = "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration")
@ConditionalOnClass(KafkaListenerEndpointRegistry.class)
@ConditionalOnIdempotency
@Import(IdempotentListenerConfiguration.class)
public final class IdempotencyKafkaAutoConfiguration {

	// Lazy, because an application without idempotent listeners needs no store.
	@Bean
	@Lazy
	ListenerSettingsFactory idempotentListenerSettingsFactory(StoreRegistry stores,
			ObjectProvider<Serialization> serialization, IdempotencyProperties properties,
			ConfigurableBeanFactory beanFactory) {
		IdempotencyConfigurationException.check(properties.key().onMissing() != MissingKeyPolicy.DEFAULT,
				"'idempotency.key.on-missing' is 'default', which is valid for listeners only.",
				"Remove it, or set 'idempotency.key.on-missing' to 'offset', 'record-coordinates', 'reject' or "
						+ "'process'.");
		OtherContentPolicy otherContent = properties.key().onOtherContent();
		IdempotencyConfigurationException.check(
				otherContent == OtherContentPolicy.REPORT || otherContent == OtherContentPolicy.IGNORE,
				"'idempotency.key.on-other-content' is '" + otherContent.name().toLowerCase(Locale.ROOT)
						+ "', which is valid for listeners with a fingerprint only.",
				"Set it to 'report' or 'ignore', or set 'fingerprint' of @Idempotent, often to '#payload'.");
		ListenerSettingsFactory.Defaults defaults = new ListenerSettingsFactory.Defaults(properties.mode(),
				properties.lease(), properties.retention(), properties.version().retention(),
				properties.key().headers(),
				(properties.key().onMissing() != null) ? properties.key().onMissing() : MissingKeyPolicy.DEFAULT,
				otherContent, properties.claimAhead());
		return new ListenerSettingsFactory((name, listener) -> {
			IdempotencyTemplate template = stores.template(name, listener);
			return new ListenerStore(template, stores.definition(name).timeout(),
					new HandlerTransactions(beanFactory, template.transactionManager()));
		}, serialization.getIfUnique(), defaults, Observers.of(beanFactory), beanFactory::resolveEmbeddedValue);
	}

}
