/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.kafka.KafkaException;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaUtils;
import org.springframework.util.Assert;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.error.BlockedRecordHandling.RejectedRecordException;
import dev.idempotency.listener.error.PartialBatchException;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.store.Claim;
import dev.idempotency.template.BatchHandler;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.NackedException;
import dev.idempotency.template.PendingCompletion;

/**
 * The invocation of a batch listener for one delivery. The template calls the method with
 * the records that are due; {@link #report} then acknowledges the batch or throws an
 * exception from which the container knows the records to redeliver.
 */
final class BatchInvocation implements BatchHandler<Object> {

	private static final Log logger = LogFactory.getLog(BatchInvocation.class);

	private final MethodInvocation invocation;

	private final Delivery delivery;

	private final List<BatchItem> items;

	// Whether the completions of this batch wait for the acknowledgment. The error
	// handler commits the offsets before a rejected record.
	private final boolean deferring;

	private final ProtectedBatchListener listener;

	// The records for which a call of the method has returned.
	private final BitSet handled = new BitSet();

	private List<Integer> due = List.of();

	private @Nullable BatchAcknowledgment acknowledgment;

	private @Nullable Object returned;

	private Duration nackSleep = Duration.ZERO;

	BatchInvocation(ProtectedBatchListener listener, MethodInvocation invocation, Delivery delivery,
			List<BatchItem> items, boolean deferring) {
		this.listener = listener;
		this.invocation = invocation;
		this.delivery = delivery;
		this.items = items;
		this.deferring = deferring;
	}

	// Check that each list among the arguments has one element per delivered record.
	static void check(@Nullable Object[] arguments, int delivered) {
		for (Object argument : arguments) {
			int size = (argument instanceof List<?> list) ? list.size()
					: (argument instanceof ConsumerRecords<?, ?> records) ? records.count() : delivered;
			Assert.state(size == delivered,
					() -> "A batch listener received " + delivered + " records, but an argument with " + size
							+ " elements. Configure filters and converters to keep the number of records");
		}
	}

	@Override
	public Claim.@Nullable Completed known(int item, IdempotentOperation operation) {
		return this.listener.deferring() ? this.delivery.original(operation) : null;
	}

	@Override
	@SuppressWarnings("unchecked")
	public @Nullable List<@Nullable Object> handle(List<Integer> due) throws Throwable {
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		BatchAcknowledgment own = this.delivery.hasAcknowledgment() ? new BatchAcknowledgment(this.delivery, due)
				: null;
		this.due = due;
		this.acknowledgment = own;
		@Nullable Object[] arguments = keep(this.invocation.getArguments(), due, records.size(), own);
		this.returned = ((ProxyMethodInvocation) this.invocation).invocableClone(arguments).proceed();
		if (own != null && own.nacked >= 0) {
			// Kept here, because transactional mode calls the method again with a new
			// acknowledgment for the records before the negatively acknowledged one.
			this.nackSleep = own.sleep;
			throw new NackedException();
		}
		AcknowledgmentCheck check = this.listener.check();
		if (check != null && own != null && !own.isAcknowledged() && this.delivery.isUnacknowledged()) {
			ConsumerRecord<?, ?> first = records.get(due.get(own.acknowledged + 1));
			throw check
				.failure("topic " + first.topic() + ", partition " + first.partition() + ", offset " + first.offset());
		}
		due.forEach(this.handled::set);
		return (this.returned instanceof List<?> list) ? (List<@Nullable Object>) list : null;
	}

	boolean hasReturned(int index) {
		return this.handled.get(index);
	}

	// Replaces the acknowledgment, and keeps only the records that are due.
	private static @Nullable Object[] keep(@Nullable Object[] arguments, List<Integer> kept, int delivered,
			@Nullable Acknowledgment acknowledgment) {
		@Nullable Object[] filtered = arguments.clone();
		for (int i = 0; i < arguments.length; i++) {
			// Lists are always copied, because the method may change them.
			filtered[i] = (arguments[i] instanceof Acknowledgment && acknowledgment != null) ? acknowledgment
					: keep(arguments[i], kept, delivered);
		}
		return filtered;
	}

	private static @Nullable Object keep(@Nullable Object argument, List<Integer> kept, int delivered) {
		if (argument instanceof List<?> list) {
			List<@Nullable Object> some = new ArrayList<>(kept.size());
			kept.forEach((index) -> some.add(list.get(index)));
			return some;
		}
		return (argument instanceof ConsumerRecords<?, ?> records && kept.size() < delivered) ? records(records, kept)
				: argument;
	}

	private static <K, V> ConsumerRecords<K, V> records(ConsumerRecords<K, V> records, List<Integer> kept) {
		List<ConsumerRecord<K, V>> all = new ArrayList<>(records.count());
		records.forEach(all::add);
		return new ConsumerRecords<>(
				kept.stream()
					.map(all::get)
					.collect(Collectors.groupingBy(Coordinates::partition, LinkedHashMap::new, Collectors.toList())),
				Map.of());
	}

	@Override
	public int failedAt(Throwable error) {
		if (error instanceof NackedException && this.acknowledgment != null) {
			return this.acknowledgment.nacked;
		}
		if (error instanceof OperationNotAcknowledgedException && this.acknowledgment != null) {
			return this.acknowledgment.acknowledged + 1;
		}
		BatchListenerFailedException failed = ExceptionCauses.find(BatchListenerFailedException.class, error);
		if (failed == null) {
			return -1;
		}
		ConsumerRecord<?, ?> record = failed.getRecord();
		return (record != null) ? position(record) : failed.getIndex();
	}

	// A method that acknowledges its records has not acknowledged
	// those before the declined one when it is called again.
	@Override
	public @Nullable OperationDeclinedException declinedBy(Throwable error) {
		BatchListenerFailedException failed = this.listener.acknowledging() ? null
				: ExceptionCauses.find(BatchListenerFailedException.class, error);
		return (failed != null) ? this.listener.settings().declinedFailures().declined(failed.getCause()) : null;
	}

	private int position(ConsumerRecord<?, ?> record) {
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		return IntStream.range(0, this.due.size())
			.filter((i) -> Coordinates.isSame(records.get(this.due.get(i)), record))
			.findFirst()
			.orElse(-1);
	}

	@Override
	public int completed(int count) {
		BatchAcknowledgment own = this.acknowledgment;
		return (!this.deferring || own == null || !this.delivery.isUnacknowledged()) ? count : own.acknowledged + 1;
	}

	@Override
	public void defer(List<Integer> items, List<PendingCompletion> pending) {
		this.delivery.defer(items, pending);
	}

	@Nullable Object report(BatchResult<Object> result, @Nullable OperationRejectedException rejection, boolean transactional)
			throws Throwable {
		Throwable failure = result.failure();
		if (!result.blocked().isEmpty()) {
			throw partial(result, Set.of());
		}
		if (failure instanceof NackedException) {
			this.delivery.end();
			if (BlockedRecordHandling.isRetrying() || isBehindCopies(result)) {
				throw endedAsBlocked(result);
			}
			this.delivery.nack(result.failedAt(), this.nackSleep);
		}
		else if (failure != null) {
			throw isBehindCopies(result) ? endedAsBlocked(result) : failed(failure, result.failedAt(), transactional);
		}
		else if (rejection != null) {
			throw failed(rejection, result.results().size(), transactional);
		}
		else {
			// A method that was not called could not acknowledge the records.
			this.delivery.completed(this.acknowledgment == null);
			if (this.acknowledgment != null) {
				deferUnprotected(this.acknowledgment);
				this.acknowledgment.completed();
			}
		}
		return this.returned;
	}

	// The records without protection that the method has not acknowledged.
	private void deferUnprotected(BatchAcknowledgment own) {
		if (this.delivery.isUnacknowledged()) {
			this.delivery.deferUnprotected(this.due.subList(own.acknowledged + 1, this.due.size())
				.stream()
				.filter((index) -> !this.delivery.isDeferred(index))
				.toList());
		}
	}

	// The container commits the offsets before a record that fails or is negatively
	// acknowledged. Copies in other partitions whose originals are not acknowledged are
	// redelivered without it first.
	private boolean isBehindCopies(BatchResult<Object> result) {
		return held(result, result.failedAt(), Set.of()).keySet()
			.stream()
			.anyMatch((other) -> !other.equals(Coordinates.partition(this.delivery.records().get(result.failedAt()))));
	}

	private RuntimeException endedAsBlocked(BatchResult<Object> result) {
		int index = result.failedAt();
		this.delivery.completeBefore(index);
		SortedMap<Integer, OperationBlockedException> blocked = new TreeMap<>();
		String reason = KafkaUtils.format(this.delivery.records().get(index)) + " failed, or nack() was called";
		blocked.put(index, new OperationInProgressException(reason, this.nackSleep));
		return partial(new BatchResult<>(result.results(), blocked, -1, result.failure()), Set.of(index));
	}

	private RuntimeException partial(BatchResult<Object> result, Set<Integer> failed) {
		if (this.acknowledgment != null) {
			if (this.due.stream().allMatch(this.handled::get)) {
				deferUnprotected(this.acknowledgment);
			}
			this.acknowledgment.partiallyCompleted();
		}
		Set<TopicPartition> partitions = new HashSet<>();
		SortedMap<Integer, OperationBlockedException> first = new TreeMap<>(result.blocked());
		first.keySet().removeIf((index) -> !partitions.add(Coordinates.partition(this.delivery.records().get(index))));
		RuntimeException partial = new PartialBatchException(result.blocked().values().iterator().next(),
				this.delivery.records(), (index) -> isProcessed(result, index), first,
				held(result, result.results().size(), waiting(result)),
				!this.delivery.hasAcknowledgment() || isAcknowledged());
		Throwable failure = result.failure();
		if (failure != null && !(failure instanceof NackedException)) {
			logger.warn("A batch failed while records of it are blocked or unacknowledged: " + partial.getMessage(),
					failure);
		}
		first.keySet().removeAll(failed);
		this.delivery.block(partial, first, this::key, this.listener.settings());
		return partial;
	}

	private @Nullable IdempotencyKey key(int index) {
		IdempotentOperation operation = this.items.get(index).operation();
		return (operation != null) ? operation.key() : null;
	}

	private static boolean isProcessed(BatchResult<Object> result, int index) {
		return index < result.results().size() && result.results().get(index) != null;
	}

	private boolean isAcknowledged() {
		return this.acknowledgment != null
				&& (this.acknowledgment.isAcknowledged() || !this.delivery.isUnacknowledged());
	}

	// A partition in which the method has received records waits for the acknowledgment.
	private Set<TopicPartition> waiting(BatchResult<Object> result) {
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		if (isAcknowledged()) {
			IntStream processed = IntStream.range(0, records.size()).filter((index) -> isProcessed(result, index));
			this.delivery.complete(processed.mapToObj(records::get).toList(), true);
		}
		Set<TopicPartition> waiting = this.delivery.unacknowledgedPartitions();
		if (this.acknowledgment != null && !isAcknowledged()) {
			this.handled.stream().forEach((index) -> waiting.add(Coordinates.partition(records.get(index))));
		}
		return waiting;
	}

	// Return the partitions whose offsets must not be committed yet, each with the offset
	// from which on its records are redelivered. These are duplicates at its end, which
	// wait for the acknowledgment of an earlier record of the partition, or of the record
	// of which they are copies. They are acknowledged with it when they are delivered
	// without the other records.
	private Map<TopicPartition, Long> held(BatchResult<Object> result, int end, Set<TopicPartition> waiting) {
		Map<TopicPartition, Long> held = new HashMap<>();
		waiting.forEach((partition) -> held.put(partition, Long.MAX_VALUE));
		Set<TopicPartition> run = new HashSet<>();
		for (int i = end - 1; i >= 0; i--) {
			ConsumerRecord<?, ?> record = this.delivery.records().get(i);
			TopicPartition partition = Coordinates.partition(record);
			IdempotentOperation operation = this.items.get(i).operation();
			IdempotentResult<Object> one = result.results().get(i);
			if (one != null && !one.duplicate()) {
				run.add(partition);
			}
			else if (one != null
					&& (waiting.contains(partition) || (operation != null && known(i, operation) != null))) {
				held.merge(partition, run.contains(partition) ? Long.MAX_VALUE : record.offset(), Math::min);
			}
		}
		return held;
	}

	private Throwable failed(Throwable failure, int index, boolean transactional) {
		if (index < 0 || transactional) {
			return withoutIndex(failure);
		}
		// The error handler commits the offsets of the records before the failed one.
		this.delivery.completeBefore(index);
		ConsumerRecord<?, ?> record = this.delivery.records().get(index);
		return (failure instanceof OperationRejectedException rejected) ? new RejectedRecordException(rejected, record)
				: new BatchListenerFailedException(String.valueOf(failure.getMessage()), failure, record);
	}

	// The error handler would apply an index of the method's records to the delivered
	// batch. In a transaction, it would commit the offsets of the records before the
	// failed one, although their output is rolled back.
	private static Throwable withoutIndex(Throwable failure) {
		BatchListenerFailedException indexed = ExceptionCauses.find(BatchListenerFailedException.class, failure);
		if (indexed == null) {
			return failure;
		}
		KafkaException whole = new KafkaException("A batch failed as a whole: " + indexed.getMessage(),
				indexed.getCause());
		whole.addSuppressed(failure);
		return whole;
	}

}
