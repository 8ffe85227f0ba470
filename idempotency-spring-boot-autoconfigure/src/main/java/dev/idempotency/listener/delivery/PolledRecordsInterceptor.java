/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;

/**
 * Notes the records that a consumer of an idempotent listener has polled, so that the key
 * of the next record can be claimed with the completion of the current one. It changes no
 * record. The library adds it after the interceptors of the application.
 *
 * @since 0.1.0
 */
public final class PolledRecordsInterceptor implements ConsumerInterceptor<Object, Object> {

	public static void install(ContainerProperties container, ConsumerFactory<?, ?> factory) {
		Properties existing = container.getKafkaConsumerProperties();
		// Several containers may share the object.
		Properties own = new Properties();
		existing.stringPropertyNames().forEach((name) -> own.setProperty(name, existing.getProperty(name)));
		own.putAll(existing);
		own.put(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG,
				new Interceptors(own.get(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG), factory));
		container.setKafkaConsumerProperties(own);
	}

	@Override
	public void configure(Map<String, ?> configuration) {
	}

	@Override
	public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
		LookAhead.polled(records);
		return records;
	}

	@Override
	public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
	}

	@Override
	public void close() {
	}

	/**
	 * The interceptors of the application and this one. The property of a container
	 * replaces that of the factory, which the application may still change, so it is read
	 * when a consumer is created.
	 */
	private static final class Interceptors extends AbstractList<Object> {

		private final @Nullable Object own;

		private final ConsumerFactory<?, ?> factory;

		Interceptors(@Nullable Object own, ConsumerFactory<?, ?> factory) {
			this.own = own;
			this.factory = factory;
		}

		private List<Object> all() {
			Object others = (this.own != null) ? this.own
					: this.factory.getConfigurationProperties().get(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG);
			List<Object> all = new ArrayList<>();
			if (others != null) {
				all.addAll((Collection<?>) ConfigDef.parseType(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG, others,
						ConfigDef.Type.LIST));
			}
			all.add(PolledRecordsInterceptor.class);
			return all;
		}

		@Override
		public Object get(int index) {
			return all().get(index);
		}

		@Override
		public int size() {
			return all().size();
		}

	}

}
