/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.CommonContainerStoppingErrorHandler;
import org.springframework.kafka.listener.CommonDelegatingErrorHandler;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.retrytopic.RetryTopicConfiguration;
import org.springframework.kafka.retrytopic.RetryTopicConfigurationBuilder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.Database;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.backoff.BackOff;
import org.springframework.util.backoff.ExponentialBackOff;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.StoredOutcomeTransformer;
import dev.idempotency.testsupport.Kafka;

/**
 * The application of a trial.
 */
final class TrialApp {

	static final int ATTEMPTS = 3;

	static final String DEAD_LETTERS = "-dlt";

	private static final Map<String, Work> WORK = new ConcurrentHashMap<>();

	private static final long BACK_OFF = 50;

	private TrialApp() {
	}

	static void register(String topic, Work work) {
		WORK.put(topic, work);
	}

	static void unregister(String topic) {
		WORK.remove(topic);
	}

	static Class<?>[] configuration(Combination combination, Class<?> listener) {
		List<Class<?>> classes = new ArrayList<>(List.of(TrialApp.class, Observations.class, listener));
		classes.add(combination.is(Factor.TRANSACTION, "JPA") ? Jpa.class : Jdbc.class);
		if (combination.retryTopic()) {
			classes.add(RetryTopics.class);
		}
		if (combination.unreadable()) {
			classes.add(Unreadable.class);
		}
		return classes.toArray(Class[]::new);
	}

	@Bean
	static SimpleMeterRegistry meters() {
		return new SimpleMeterRegistry();
	}

	@Bean
	static Work work(@Value("${pair.topic}") String topic, DataSource dataSource, PlatformTransactionManager manager,
			ObjectProvider<Outbox> outbox, ObjectProvider<IdempotencyTemplate> template) {
		Work work = WORK.get(topic);
		work.use(new JdbcTemplate(dataSource), new TransactionTemplate(manager), outbox.getIfAvailable(),
				template.getIfAvailable());
		return work;
	}

	@Bean
	static ConcurrentKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			KafkaTemplate<Object, Object> kafka, Work work) {
		Combination combination = work.combination();
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		ContainerProperties container = factory.getContainerProperties();
		container.setAckMode(AckMode.valueOf(combination.levels().get(Factor.ACK)));
		container.setAckCount(2);
		container.setAckTime(200);
		container.setPollTimeout(100);
		if (combination.is(Factor.CONSUMERS, "two")) {
			factory.setConcurrency(2);
		}
		if (combination.is(Factor.THREADS, "virtual")) {
			SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("pair-");
			executor.setVirtualThreads(Runtime.version().feature() >= 21);
			container.setListenerTaskExecutor(executor);
		}
		intercept(factory, combination);
		DeadLetterPublishingRecoverer recoverer = new DeadLetterPublishingRecoverer(kafka,
				(record, ex) -> new TopicPartition(record.topic() + DEAD_LETTERS, 0));
		CommonErrorHandler errors = errorHandler(combination, recoverer);
		if (combination.kafkaTransaction()) {
			boolean batch = combination.batch();
			factory.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(recoverer, backOff(), kafka, true));
			container.setBatchRecoverAfterRollback(batch);
		}
		if (!combination.kafkaTransaction() || !combination.is(Factor.ERRORS, "immediate retries")) {
			factory.setCommonErrorHandler(errors);
		}
		return factory;
	}

	private static void intercept(ConcurrentKafkaListenerContainerFactory<Object, Object> factory,
			Combination combination) {
		if (combination.is(Factor.INTERCEPTION, "interceptor drops")) {
			factory.setRecordInterceptor((record, consumer) -> dropped(record) ? null : record);
			factory.setBatchInterceptor((records, consumer) -> {
				Map<TopicPartition, List<ConsumerRecord<Object, Object>>> kept = new HashMap<>();
				for (TopicPartition partition : records.partitions()) {
					kept.put(partition,
							records.records(partition).stream().filter((record) -> !dropped(record)).toList());
				}
				return new ConsumerRecords<>(kept, records.nextOffsets());
			});
		}
		if (combination.is(Factor.INTERCEPTION, "filter drops")) {
			factory.setRecordFilterStrategy(TrialApp::dropped);
			factory.setAckDiscarded(true);
		}
	}

	private static boolean dropped(ConsumerRecord<?, ?> record) {
		return record.headers().lastHeader(Message.DROP) != null;
	}

	private static BackOff backOff() {
		return new FixedBackOff(0, ATTEMPTS - 1);
	}

	private static CommonErrorHandler errorHandler(Combination combination, DeadLetterPublishingRecoverer recoverer) {
		DefaultErrorHandler usual = handler(combination, recoverer, backOff());
		return switch (combination.levels().get(Factor.ERRORS)) {
			case "with back-off" -> {
				ExponentialBackOff backOff = new ExponentialBackOff(BACK_OFF, 2);
				backOff.setMaxAttempts(ATTEMPTS - 1);
				yield handler(combination, recoverer, backOff);
			}
			case "not seeking" -> {
				usual.setSeekAfterError(false);
				yield usual;
			}
			case "container-stopping" -> new CommonContainerStoppingErrorHandler();
			case "delegating" -> {
				CommonDelegatingErrorHandler delegating = new CommonDelegatingErrorHandler(usual);
				delegating.setCauseChainTraversing(true);
				delegating.addDelegate(IllegalArgumentException.class, handler(combination, recoverer, backOff()));
				yield delegating;
			}
			default -> usual;
		};
	}

	// In this ack mode Spring Kafka does not commit the offset of a recovered record by
	// itself. With an asynchronous listener, the commit would pass pending results.
	private static DefaultErrorHandler handler(Combination combination, DeadLetterPublishingRecoverer recoverer,
			BackOff backOff) {
		DefaultErrorHandler handler = new DefaultErrorHandler(recoverer, backOff);
		handler.setCommitRecovered(combination.is(Factor.ACK, "MANUAL_IMMEDIATE") && !combination.asynchronous());
		return handler;
	}

	/**
	 * The transaction manager of JDBC. Spring Boot creates none beside that of Kafka.
	 */
	static class Jdbc {

		@Bean
		@Primary
		static JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	/**
	 * The transaction manager of JPA.
	 */
	static class Jpa {

		@Bean
		static LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource,
				@Value("${spring.datasource.url}") String url) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setDataSource(dataSource);
			HibernateJpaVendorAdapter hibernate = new HibernateJpaVendorAdapter();
			hibernate.setDatabase(url.startsWith("jdbc:h2") ? Database.H2
					: url.startsWith("jdbc:m") ? Database.MYSQL : Database.POSTGRESQL);
			factory.setJpaVendorAdapter(hibernate);
			factory.setManagedTypes(PersistenceManagedTypes.of());
			return factory;
		}

		@Bean
		@Primary
		static JpaTransactionManager transactionManager(EntityManagerFactory factory) {
			return new JpaTransactionManager(factory);
		}

	}

	/**
	 * Retry topics and a dead-letter topic.
	 */
	static class RetryTopics {

		@Bean
		static RetryTopicConfiguration retryTopics(@Value("${pair.topic}") String topic,
				KafkaTemplate<Object, Object> kafka) {
			return RetryTopicConfigurationBuilder.newInstance()
				.includeTopic(topic)
				.maxAttempts(ATTEMPTS)
				.fixedBackOff(BACK_OFF)
				.doNotAutoCreateRetryTopics()
				.create(kafka);
		}

	}

	/**
	 * Stored results that cannot be read.
	 */
	static class Unreadable implements StoredOutcomeTransformer {

		@Override
		public byte[] toStored(IdempotencyKey key, byte[] outcome) {
			byte[] stored = outcome.clone();
			stored[0]++;
			return stored;
		}

		@Override
		public byte[] fromStored(IdempotencyKey key, byte[] stored) {
			throw new IllegalStateException("Not readable");
		}

	}

	/**
	 * Adds the headers of the key.
	 */
	public static class HeaderInterceptor implements ConsumerInterceptor<Object, Object> {

		@Override
		public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
			records.forEach((record) -> {
				record.headers().add(Message.TENANT, "t1".getBytes());
				if (record.headers().lastHeader(Message.RAW_KEY) != null) {
					record.headers()
						.remove(Kafka.KEY_HEADER)
						.add(Kafka.KEY_HEADER, record.headers().lastHeader(Message.RAW_KEY).value());
				}
			});
			return records;
		}

		@Override
		public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
		}

		@Override
		public void close() {
		}

		@Override
		public void configure(Map<String, ?> configs) {
		}

	}

}
