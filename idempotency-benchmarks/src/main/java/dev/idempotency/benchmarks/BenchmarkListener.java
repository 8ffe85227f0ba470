/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.core.annotation.AliasFor;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.TopicPartition;

/**
 * A listener that is started by hand with assigned partitions, so that no rebalance is
 * measured.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@KafkaListener(autoStartup = "false",
		topicPartitions = @TopicPartition(topic = "${benchmark.topic}", partitions = "${benchmark.partitions}"))
@interface BenchmarkListener {

	/**
	 * The ID of the limit.
	 */
	String LIMIT = "limit";

	/**
	 * The ID of the protected listener.
	 */
	String PROTECTED = "protected";

	/**
	 * The ID of the container.
	 */
	@AliasFor(annotation = KafkaListener.class, attribute = "id")
	String value();

	/**
	 * Whether the listener consumes batches.
	 */
	@AliasFor(annotation = KafkaListener.class, attribute = "batch")
	String batch() default "";

}
