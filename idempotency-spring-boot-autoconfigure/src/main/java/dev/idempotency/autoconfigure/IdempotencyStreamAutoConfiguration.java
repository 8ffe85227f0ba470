/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Import;

import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.stream.BindingProtection;

/**
 * {@link AutoConfiguration Auto-configuration} for idempotent functions of Spring Cloud
 * Stream that read Kafka.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyKafkaAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.cloud.stream.binder.kafka.KafkaMessageChannelBinder")
@ConditionalOnIdempotency
@Import({ FunctionProtection.class, BindingProtection.class })
public final class IdempotencyStreamAutoConfiguration {

}
