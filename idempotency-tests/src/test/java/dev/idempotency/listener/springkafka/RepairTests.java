/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.adapter.FilteringMessageListenerAdapter;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.util.ClassUtils;

import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for each {@link Repair}: on the running version of Spring Kafka, and on a version
 * that does not have the members. {@code AsyncRetryTests} tests what
 * {@link FailedResults} and {@link RetainedPartitions} do in a container.
 */
class RepairTests {

	private static final TopicPartition PARTITION = new TopicPartition("topic", 0);

	private static final boolean CLEARS_PARTITIONS = ClassUtils.hasMethod(CommonErrorHandler.class,
			"clearThreadStateFor", Collection.class);

	static Stream<Repair> runningVersionHasTheMembersOfEachRepair() {
		return SpringKafkaRuntimeHints.repairs()
			.stream()
			// BindingRetriesTests is in the module with Spring Integration.
			.filter((repair) -> repair != BindingRetries.REPAIR)
			.filter((repair) -> CLEARS_PARTITIONS || repair != PartitionRetryState.REPAIR);
	}

	@ParameterizedTest
	@MethodSource
	void runningVersionHasTheMembersOfEachRepair(Repair repair) {
		assertThat(repair.find(ClassUtils.resolveClassName(repair.type, null))).isNotNull();
	}

	@ParameterizedTest
	@MethodSource("runningVersionHasTheMembersOfEachRepair")
	void hintsContainTheMembersOfEachRepair(Repair repair) {
		RuntimeHints hints = new RuntimeHints();
		new SpringKafkaRuntimeHints().registerHints(hints, getClass().getClassLoader());
		Class<?> type = ClassUtils.resolveClassName(repair.type, null);
		assertThat(repair.names).extracting((name) -> name.finder().apply(type))
			.allSatisfy((member) -> assertThat(
					(member instanceof Field field) ? RuntimeHintsPredicates.reflection().onFieldAccess(field)
							: RuntimeHintsPredicates.reflection().onMethodInvocation((Method) member))
				.accepts(hints));
		assertThat(RuntimeHintsPredicates.reflection().onType(RecordFilterStrategy.class)).accepts(hints);
	}

	@Test
	void failedResultsReportFailuresAndForgetOffsets() {
		Consumer consumer = new Consumer();
		FailedResults results = FailedResults.of(consumer);
		assertThat(results).isNotNull();
		assertThat(results.consumer()).isSameAs(consumer);
		results.report(new ConsumerRecord<>("topic", 0, 5, "", ""), new IllegalStateException("failed"));
		assertThat(consumer.failed).isEqualTo("5 failed");
		results.forgetFrom(PARTITION, 5);
		assertThat(consumer.forgotten).containsExactly(5L, 6L);
		results.forgetEmpty(new TopicPartition("topic", 1));
		assertThat(consumer.offsetsInThisBatch).containsOnlyKeys(PARTITION);
	}

	@Test
	void failedResultsAreLeftToSpringKafkaIfMembersAreMissing() {
		try (Logs logs = new Logs()) {
			ConsumerSeekCallback other = new OtherConsumer();
			assertThat(FailedResults.of(other)).isNull();
			assertThat(FailedResults.of(other)).isNull();
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.startsWith(
						"RepairTests.OtherConsumer does not have the method 'callbackForAsyncFailure(ConsumerRecord, "
								+ "RuntimeException)' and the field 'offsetsInThisBatch' and the method "
								+ "'removeOffsetsInBatch(Iterable)' in this version. Failures of asynchronous idempotent "
								+ "listeners are therefore retried as Spring Kafka does it.");
		}
	}

	@Test
	void retainedPartitionsAreResumedIfTheConsumerWaits() {
		Consumer consumer = new Consumer();
		RetainedPartitions retained = RetainedPartitions.of(consumer);
		retained.assigned();
		assertThat(consumer.consumerPaused).isFalse();
		consumer.pausedForAsyncAcks = true;
		retained.assigned();
		assertThat(consumer.consumerPaused).isTrue();
	}

	@Test
	void retainedPartitionsAreLeftToSpringKafkaIfTheirFieldIsFinal() {
		try (Logs logs = new Logs()) {
			FinalConsumer consumer = new FinalConsumer();
			RetainedPartitions.of(consumer).assigned();
			assertThat(consumer.consumerPaused).isFalse();
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.startsWith("RepairTests.FinalConsumer does not have the non-final field 'consumerPaused' in this "
						+ "version. Partitions that the consumer of an asynchronous idempotent listener keeps in a "
						+ "cooperative rebalance may therefore stay paused.");
		}
	}

	@Test
	void filterIsFoundInItsAdapter() {
		assertThat(RecordFilters.problem(adapter((record) -> false))).isNull();
		assertThat(RecordFilters.problem(adapter(new BatchFilter()))).contains("overrides filterBatch");
	}

	private static Object adapter(RecordFilterStrategy<Object, Object> filter) {
		MessageListener<Object, Object> listener = (record) -> {
		};
		return new FilteringMessageListenerAdapter<>(listener, filter);
	}

	@Test
	void filterThatCannotBeReadIsAProblem() {
		assertThat(RecordFilters.problem(this)).isEqualTo("the RecordFilterStrategy of its container cannot be read, "
				+ "because RepairTests does not have the method 'getRecordFilterStrategy()' in this version");
	}

	@Test
	void retryTemplateThatCannotBeReadIsAProblem() {
		assertThat(BindingRetries.problem(RepairTests.class))
			.isEqualTo("RepairTests does not have the field 'retryTemplate' in this version");
	}

	@Test
	void stateOfPartitionsIsClearedInANewerErrorHandler() {
		NewerErrorHandler handler = new NewerErrorHandler();
		PartitionRetryState.clear(handler, List.of(PARTITION),
				PartitionRetryState.REPAIR.find(NewerErrorHandler.class));
		assertThat(handler.cleared).containsExactly(PARTITION);
	}

	@Test
	void stateOfAllPartitionsIsClearedInAnOlderErrorHandler() {
		NewerErrorHandler handler = new NewerErrorHandler();
		PartitionRetryState.clear(handler, List.of(PARTITION), null);
		assertThat(handler.cleared).isEmpty();
	}

	static class NewerErrorHandler extends DefaultErrorHandler implements PartitionRetryState.Clearable {

		private Collection<TopicPartition> cleared;

		@Override
		public void clearThreadState() {
			this.cleared = List.of();
		}

		@Override
		public void clearThreadStateFor(Collection<TopicPartition> partitions) {
			this.cleared = partitions;
		}

	}

	static class BatchFilter implements RecordFilterStrategy<Object, Object> {

		@Override
		public boolean filter(ConsumerRecord<Object, Object> record) {
			return false;
		}

		@Override
		public List<ConsumerRecord<Object, Object>> filterBatch(List<ConsumerRecord<Object, Object>> records) {
			return List.of();
		}

	}

	/**
	 * Has the members of Spring Kafka's consumer.
	 */
	static class Consumer extends OtherConsumer {

		private final Map<TopicPartition, List<Long>> offsetsInThisBatch = new HashMap<>(
				Map.of(PARTITION, List.of(4L, 5L, 6L), new TopicPartition("topic", 1), List.of()));

		private boolean consumerPaused;

		private boolean pausedForAsyncAcks;

		private String failed;

		private List<Long> forgotten;

		@SuppressWarnings("unused")
		private void callbackForAsyncFailure(ConsumerRecord<?, ?> record, RuntimeException exception) {
			this.failed = record.offset() + " " + exception.getMessage();
		}

		@SuppressWarnings("unused")
		private void removeOffsetsInBatch(Iterable<? extends ConsumerRecord<?, ?>> records) {
			this.forgotten = new ArrayList<>();
			records.forEach((record) -> this.forgotten.add(record.offset()));
		}

	}

	static class FinalConsumer extends OtherConsumer {

		private final boolean consumerPaused = this.hashCode() == 0;

		@SuppressWarnings("unused")
		private final boolean pausedForAsyncAcks = !this.consumerPaused;

	}

	static class OtherConsumer implements ConsumerSeekCallback {

		@Override
		public void seek(String topic, int partition, long offset) {
		}

		@Override
		public void seek(String topic, int partition, Function<Long, Long> offset) {
		}

		@Override
		public void seekToBeginning(String topic, int partition) {
		}

		@Override
		public void seekToEnd(String topic, int partition) {
		}

		@Override
		public void seekRelative(String topic, int partition, long offset, boolean toCurrent) {
		}

		@Override
		public void seekToTimestamp(String topic, int partition, long timestamp) {
		}

		@Override
		public void seekToTimestamp(Collection<TopicPartition> partitions, long timestamp) {
		}

	}

}
