/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.Map;

import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.core.retry.RetryTemplate;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link BindingRetries} on the running version of Spring Integration.
 */
class BindingRetriesTests {

	@Test
	void retryTemplateIsFoundInTheAdapterOfABinding() {
		KafkaMessageDrivenChannelAdapter<Object, Object> adapter = new KafkaMessageDrivenChannelAdapter<>(
				new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(Map.of()),
						new ContainerProperties("topic")));
		assertThat(BindingRetries.problem(adapter.getClass())).isNull();
		assertThat(BindingRetries.template(adapter)).isNull();
		RetryTemplate template = new RetryTemplate();
		adapter.setRetryTemplate(template);
		assertThat(BindingRetries.template(adapter)).isSameAs(template);
	}

	@Test
	void hintsContainTheField() throws NoSuchFieldException {
		RuntimeHints hints = new RuntimeHints();
		new SpringKafkaRuntimeHints().registerHints(hints, getClass().getClassLoader());
		assertThat(RuntimeHintsPredicates.reflection()
			.onFieldAccess(KafkaMessageDrivenChannelAdapter.class.getDeclaredField("retryTemplate"))).accepts(hints);
	}

}
