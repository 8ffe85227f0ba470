/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import org.apache.kafka.clients.admin.NewTopic;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.config.TopicBuilder;

/**
 * The topic of {@link PaymentCommand} messages.
 */
@Configuration(proxyBeanMethods = false)
public class PaymentTopic {

	/**
	 * Name of the topic.
	 */
	public static final String NAME = "payments";

	@Bean
	NewTopic payments() {
		return TopicBuilder.name(NAME).partitions(6).build();
	}

}
