/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.CommonDelegatingErrorHandler;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.CommonLoggingErrorHandler;
import org.springframework.kafka.listener.CommonMixedErrorHandler;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.error.BlockedRecordHandling.RejectedRecordException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that a rejected record is handled once and alone, whatever error handler the
 * container has.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("promise-1")
class RejectedRecordTests {

	private final ReplayedLog log = new ReplayedLog();

	private final BlockedRecordHandling handling = new BlockedRecordHandling();

	private final List<String> processed = new CopyOnWriteArrayList<>();

	private final List<String> rejected = new CopyOnWriteArrayList<>();

	private final List<String> recovered = new CopyOnWriteArrayList<>();

	private boolean fails = true;

	private KafkaMessageListenerContainer<Object, Object> container;

	@AfterEach
	void stop() {
		this.container.stop();
		this.handling.destroy();
	}

	@ParameterizedTest
	@CsvSource({ "false, default", "false, delegating", "false, mixed", "true, default", "true, staying",
			"true, delegating", "true, delegate", "true, mixed", "true, logging", "true, own" })
	void rejectedRecordIsHandledOnceAndAlone(boolean batch, String handler) {
		ContainerProperties properties = new ContainerProperties(new TopicPartitionOffset("payments", 0),
				new TopicPartitionOffset("payments", 1));
		properties.setGroupId("payments");
		properties.setMessageListener(batch ? (BatchMessageListener<Object, Object>) this::process
				: (MessageListener<Object, Object>) (record) -> {
					OperationRejectedException ex = process(record);
					if (ex != null) {
						throw ex;
					}
				});
		this.container = new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(Map.of()) {
			@Override
			public Consumer<Object, Object> createConsumer(String group, String prefix, String suffix,
					Properties overrides) {
				return RejectedRecordTests.this.log;
			}
		}, properties);
		this.container.setCommonErrorHandler(handler(handler));
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.container.start();
		this.log.open();
		await().untilAsserted(() -> assertThat(this.processed).containsExactlyInAnyOrder("0-0", "0-2", "1-0", "1-2"));
		await().until(() -> ReplayedLog.PARTITIONS.stream().allMatch(this::isCommitted));
		assertThat(this.rejected).containsExactlyInAnyOrder("0-1", "1-1");
		if (!handler.equals("logging")) {
			assertThat(this.recovered).containsExactlyInAnyOrder("0-1", "1-1");
		}
	}

	private boolean isCommitted(TopicPartition partition) {
		return this.log.lastCommitted(partition) == ReplayedLog.SIZE;
	}

	// As the listener of the library does.
	private void process(List<ConsumerRecord<Object, Object>> records) {
		if (this.fails) {
			this.fails = false;
			throw new IllegalStateException("the first attempt of the batch fails");
		}
		for (ConsumerRecord<Object, Object> record : records) {
			OperationRejectedException ex = process(record);
			if (ex != null) {
				throw new RejectedRecordException(ex, record);
			}
		}
	}

	private OperationRejectedException process(ConsumerRecord<?, ?> record) {
		if (record.offset() == 1) {
			this.rejected.add(text(record));
			return new IdempotencyKeyReusedException("reused");
		}
		if (!this.processed.contains(text(record))) {
			this.processed.add(text(record));
		}
		return null;
	}

	private static String text(ConsumerRecord<?, ?> record) {
		return record.partition() + "-" + record.offset();
	}

	private CommonErrorHandler handler(String kind) {
		return switch (kind) {
			case "logging" -> {
				this.fails = false;
				yield new CommonLoggingErrorHandler();
			}
			case "own" -> new OwnErrorHandler();
			case "mixed" -> new CommonMixedErrorHandler(retrying(), retrying());
			case "delegating" -> new CommonDelegatingErrorHandler(retrying());
			case "delegate" -> {
				CommonDelegatingErrorHandler delegating = new CommonDelegatingErrorHandler(retrying());
				delegating.addDelegate(RuntimeException.class, retrying());
				yield delegating;
			}
			case "staying" -> {
				DefaultErrorHandler staying = retrying();
				staying.setSeekAfterError(false);
				yield staying;
			}
			default -> retrying();
		};
	}

	private DefaultErrorHandler retrying() {
		return new DefaultErrorHandler((record, ex) -> this.recovered.add(text(record)), new FixedBackOff(0, 3));
	}

	/**
	 * Calls the listener again, and gives up the whole batch when that fails.
	 */
	private final class OwnErrorHandler implements CommonErrorHandler {

		@Override
		public void handleBatch(Exception thrownException, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
				MessageListenerContainer container, Runnable invokeListener) {
			try {
				invokeListener.run();
			}
			catch (RuntimeException ex) {
				data.forEach((record) -> RejectedRecordTests.this.recovered.add(text(record)));
			}
		}

		@Override
		public boolean seeksAfterHandling() {
			return true;
		}

	}

}
