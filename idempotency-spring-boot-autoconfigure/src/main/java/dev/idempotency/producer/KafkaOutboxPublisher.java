/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.ApplicationRecoverableException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.Internal;
import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRow;

/**
 * Sends stored messages with a producer of its own. The producer has the configuration of
 * the application's producers, with these differences: it is idempotent, waits for all
 * in-sync replicas, sends bytes, and fails within the send timeout.
 *
 * @since 0.1.0
 */
@Internal
public final class KafkaOutboxPublisher implements OutboxPublisher, DisposableBean {

	private final RelayProducer producer;

	private final Set<String> keyHeaders;

	// The numbers of partitions that this round has seen. A topic that grows within a
	// round must not distribute the messages with one key to two partitions.
	private final Map<String, Integer> partitions = new HashMap<>();

	// The number of messages of the current producer whose results are pending.
	private AtomicInteger pending = new AtomicInteger();

	// Why no producer could be created for the round.
	private @Nullable RuntimeException failure;

	private final List<KafkaOutboxPublisher> others = new CopyOnWriteArrayList<>();

	// Written by the threads of the relay and of the producer.
	private volatile boolean broken;

	private volatile boolean abandoned;

	/**
	 * Create a publisher.
	 * @param factory the factory of the application's {@code KafkaTemplate}
	 * @param sendTimeout timeout for the publication of a message
	 * @param keyHeaders more headers for the idempotency key, besides
	 * {@code Idempotency-Key} and the header that the factory configures for
	 * {@link IdempotencyKeyInterceptor}
	 */
	public KafkaOutboxPublisher(ProducerFactory<?, ?> factory, Duration sendTimeout, Set<String> keyHeaders) {
		this(new RelayProducer(factory, sendTimeout, 1), new HashSet<>(keyHeaders));
		this.keyHeaders.add(OutboxRow.KEY_HEADER);
		Object header = factory.getConfigurationProperties().get(IdempotencyKeyInterceptor.HEADER_CONFIG);
		if (header != null) {
			this.keyHeaders.add(header.toString());
		}
	}

	private KafkaOutboxPublisher(RelayProducer producer, Set<String> keyHeaders) {
		this.producer = producer;
		this.keyHeaders = keyHeaders;
	}

	// A round keeps its producer until it ends: another one must not send while the
	// first one may still do so.
	@Override
	public void beginRound() {
		this.partitions.clear();
		this.failure = null;
		try {
			boolean replaced = this.broken || this.abandoned || this.pending.get() > 0;
			this.producer.beginRound(replaced);
			if (replaced) {
				this.pending = new AtomicInteger();
				this.broken = false;
				this.abandoned = false;
			}
		}
		catch (RuntimeException ex) {
			this.failure = ex;
		}
	}

	@Override
	public int maxBytesInFlight() {
		return this.producer.isPartitionedByKey() ? this.producer.maxBytesInFlight() : 0;
	}

	@Override
	public void abandon() {
		if (!this.abandoned) {
			this.abandoned = true;
			this.producer.abandon();
		}
	}

	@Override
	public OutboxPublisher another() {
		KafkaOutboxPublisher other = new KafkaOutboxPublisher(this.producer.another(this.others.size() + 1),
				this.keyHeaders);
		this.others.add(other);
		if (this.producer.isDestroyed()) {
			other.destroy();
		}
		return other;
	}

	@Override
	public CompletionStage<?> publish(OutboxRow row) {
		CompletableFuture<Void> published = new CompletableFuture<>();
		AtomicInteger pending = this.pending;
		pending.incrementAndGet();
		try {
			if (this.failure != null) {
				throw this.failure;
			}
			this.producer.get().send(record(row), (metadata, error) -> complete(row, published, pending, error));
		}
		catch (RuntimeException | Error ex) {
			complete(row, published, pending, ex);
		}
		return published;
	}

	private void complete(OutboxRow row, CompletableFuture<Void> published, AtomicInteger pending,
			@Nullable Throwable error) {
		pending.decrementAndGet();
		if (error == null) {
			published.complete(null);
		}
		else {
			// The producer may not work any more after an error that is not retriable.
			// Two threads may be here: neither takes back what the other has found.
			if ((!(error instanceof RetriableException) && kindOf(error) == FailureKind.UNAVAILABLE)
					|| (error instanceof TimeoutException && this.producer.failsToSplit(row.topic()))) {
				this.broken = true;
			}
			published.completeExceptionally(error);
		}
	}

	// An Error ends the thread of the producer, which still accepts messages.
	@Override
	public void resultsOverdue() {
		this.broken = true;
	}

	@Override
	public void relayStopped() {
		this.producer.close();
	}

	private ProducerRecord<byte[], byte[]> record(OutboxRow row) {
		ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(row.topic(), partition(row), row.key(),
				row.payload());
		row.headers().forEach((header) -> record.headers().add(header.name(), header.value()));
		record.headers().add(OutboxRow.ID_HEADER, row.id().toString().getBytes(StandardCharsets.UTF_8));
		byte[] key = row.idempotencyKey().getBytes(StandardCharsets.UTF_8);
		// A header of the application with this name is not the key of this message.
		this.keyHeaders.forEach((name) -> record.headers().remove(name).add(name, key));
		return record;
	}

	// The partition that the producer would choose.
	private @Nullable Integer partition(OutboxRow row) {
		byte[] key = row.key();
		if (key == null || !this.producer.isPartitionedByKey()) {
			return null;
		}
		int partitions = this.partitions.computeIfAbsent(row.topic(),
				(topic) -> this.producer.get().partitionsFor(topic).size());
		return Utils.toPositive(Utils.murmur2(key)) % partitions;
	}

	@Override
	public FailureKind kindOf(Throwable error) {
		// The producer has no exception type for a message whose batch contains a refused
		// one, and for a closed producer. Other errors without a type have a cause.
		boolean untyped = error.getClass() == KafkaException.class;
		if (error != this.failure && ((untyped && error.getCause() == null)
				|| (this.abandoned && (untyped || error instanceof IllegalStateException)))) {
			return FailureKind.ABANDONED;
		}
		// The producer retries a message to an unknown topic until its timeout, so the
		// error may be the cause.
		if (error instanceof UnknownTopicOrPartitionException
				|| error.getCause() instanceof UnknownTopicOrPartitionException
				|| error instanceof InvalidTopicException || error instanceof TopicAuthorizationException) {
			return FailureKind.TOPIC_REFUSED;
		}
		if (!(error instanceof KafkaException) && !(error instanceof VirtualMachineError)
				&& !(error instanceof IllegalStateException)) {
			// Thrown by a partitioner or an interceptor of the application.
			return FailureKind.REFUSED;
		}
		boolean refused = error instanceof ApiException && !(error instanceof RetriableException)
				&& !(error instanceof AuthenticationException) && !(error instanceof ClusterAuthorizationException)
				&& !(error instanceof UnknownServerException) && !(error instanceof ApplicationRecoverableException)
				&& !(error instanceof OutOfOrderSequenceException);
		return refused ? FailureKind.REFUSED : FailureKind.UNAVAILABLE;
	}

	@Override
	public void destroy() {
		this.producer.destroy();
		this.others.forEach(KafkaOutboxPublisher::destroy);
	}

}
