/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import org.apache.kafka.clients.admin.Admin;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaAdmin;

/**
 * The Kafka client that reads offsets.
 */
@Configuration(proxyBeanMethods = false)
class KafkaAdminClient {

	@Bean
	Admin admin(KafkaAdmin kafkaAdmin) {
		return Admin.create(kafkaAdmin.getConfigurationProperties());
	}

}
