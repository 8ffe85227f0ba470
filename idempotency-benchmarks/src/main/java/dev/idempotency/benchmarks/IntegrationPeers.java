/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import org.aopalliance.aop.Advice;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.integration.handler.advice.IdempotentReceiverInterceptor;
import org.springframework.integration.jdbc.metadata.JdbcMetadataStore;
import org.springframework.integration.kafka.dsl.Kafka;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter.ListenerMode;
import org.springframework.integration.metadata.ConcurrentMetadataStore;
import org.springframework.integration.redis.metadata.RedisMetadataStore;
import org.springframework.integration.selector.MetadataStoreSelector;
import org.springframework.integration.transaction.TransactionInterceptorBuilder;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHandler;
import org.springframework.transaction.TransactionManager;

/**
 * Spring Integration's idempotent receiver behind its own Kafka adapter. The listener
 * container comes from the same factory as those of the other peers.
 */
final class IntegrationPeers {

	private static final String HEADER = "Idempotency-Key";

	private IntegrationPeers() {
	}

	private static IntegrationFlow flow(ConcurrentKafkaListenerContainerFactory<Object, Object> containers,
			String topic, int partitions, Charges charges, Advice... advice) {
		TopicPartitionOffset[] assigned = IntStream.range(0, partitions)
			.mapToObj((partition) -> new TopicPartitionOffset(topic, partition))
			.toArray(TopicPartitionOffset[]::new);
		MessageHandler handler = (message) -> charges.charge(key(message));
		return IntegrationFlow
			.from(Kafka.messageDrivenChannelAdapter(containers.createContainer(assigned), ListenerMode.record)
				.autoStartup(false))
			.handle(handler, (endpoint) -> endpoint.advice(advice))
			.get();
	}

	// By default, the interceptor calls the handler for duplicates, too.
	private static IdempotentReceiverInterceptor interceptor(ConcurrentMetadataStore store) {
		IdempotentReceiverInterceptor interceptor = new IdempotentReceiverInterceptor(
				new MetadataStoreSelector(IntegrationPeers::key, store));
		interceptor.setDiscardChannelName("nullChannel");
		return interceptor;
	}

	private static String key(Message<?> message) {
		Object key = message.getHeaders().get(HEADER);
		return (key instanceof byte[] bytes) ? new String(bytes, StandardCharsets.UTF_8) : String.valueOf(key);
	}

	private static JdbcMetadataStore store(DataSource dataSource) {
		if (new JdbcTemplate(dataSource).queryForObject("SELECT to_regclass('int_metadata_store')::text",
				String.class) == null) {
			new ResourceDatabasePopulator(
					new ClassPathResource("org/springframework/integration/jdbc/schema-postgresql.sql"))
				.execute(dataSource);
		}
		return new JdbcMetadataStore(dataSource);
	}

	/**
	 * The flow of all peers.
	 */
	@EnableIntegration
	abstract static class Receiver {

		@Bean
		IdempotentReceiverInterceptor idempotentReceiver(ConcurrentMetadataStore store) {
			return interceptor(store);
		}

		@Bean
		IntegrationFlow charging(ConcurrentKafkaListenerContainerFactory<Object, Object> containers,
				@Value("${benchmark.topic}") String topic, @Value("${benchmark.partition-count}") int partitions,
				Charges charges, IdempotentReceiverInterceptor interceptor) {
			return flow(containers, topic, partitions, charges, advice(interceptor));
		}

		Advice[] advice(IdempotentReceiverInterceptor interceptor) {
			return new Advice[] { interceptor };
		}

	}

	/**
	 * With keys in PostgreSQL, each stored in a transaction of its own.
	 */
	static class Jdbc extends Receiver {

		@Bean
		JdbcMetadataStore metadataStore(DataSource dataSource) {
			return store(dataSource);
		}

	}

	/**
	 * With keys in PostgreSQL, each stored in the transaction of the handler.
	 */
	static class JdbcTransaction extends Jdbc {

		private final Advice transaction;

		JdbcTransaction(TransactionManager transactions) {
			this.transaction = new TransactionInterceptorBuilder(true).transactionManager(transactions).build();
		}

		@Override
		Advice[] advice(IdempotentReceiverInterceptor interceptor) {
			return new Advice[] { this.transaction, interceptor };
		}

	}

	/**
	 * With keys in Redis.
	 */
	static class Redis extends Receiver {

		@Bean
		RedisMetadataStore metadataStore(RedisConnectionFactory connections,
				@Value("${benchmark.topic}") String topic) {
			return new RedisMetadataStore(connections, topic);
		}

	}

}
