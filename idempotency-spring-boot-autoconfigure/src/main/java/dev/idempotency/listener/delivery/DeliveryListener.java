/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchAcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.DelegatingMessageListener;
import org.springframework.kafka.listener.GenericMessageListener;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.adapter.AbstractDelegatingMessageListenerAdapter;
import org.springframework.kafka.listener.adapter.AsyncRepliesAware;
import org.springframework.kafka.listener.adapter.FilteringMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.key.Coordinates;

/**
 * Decorates the message listener of a container and binds each {@link Delivery} to the
 * thread. A record interceptor could not do this, because it does not receive the
 * acknowledgment.
 *
 * @param <T> the type of the message listener
 * @param <D> the type of the data that it receives
 */
public abstract class DeliveryListener<T extends GenericMessageListener<D>, D>
		extends AbstractDelegatingMessageListenerAdapter<T> implements GenericMessageListener<D> {

	private final ProtectedListeners listeners;

	private final boolean transactional;

	private final boolean filtering;

	private DeliveryListener(T delegate, ProtectedListeners listeners, boolean transactional) {
		super(delegate);
		this.filtering = isFiltering(delegate);
		this.listeners = listeners;
		this.transactional = transactional;
	}

	@SuppressWarnings("unchecked")
	public static <K, V> DeliveryListener<?, ?> decorate(Object listener, ProtectedListeners listeners,
			boolean transactional) {
		return (listener instanceof BatchMessageListener<?, ?> batchListener)
				? new Batches<>((BatchMessageListener<K, V>) batchListener, listeners, transactional)
				: new Records<>((MessageListener<K, V>) listener, listeners, transactional);
	}

	// The application or a retry topic may have decorated the filter.
	private static boolean isFiltering(Object listener) {
		return listener instanceof FilteringMessageListenerAdapter<?, ?>
				|| (listener instanceof DelegatingMessageListener<?> decorator && isFiltering(decorator.getDelegate()));
	}

	// Run the delegate in a delivery, and throw the exception of a blocked record.
	final void deliver(List<? extends ConsumerRecord<?, ?>> records, @Nullable Acknowledgment acknowledgment,
			java.util.function.Consumer<@Nullable Acknowledgment> listener) {
		if (this instanceof Records && this.listeners.asyncRetries().skip(records.get(0))) {
			return;
		}
		Delivery delivery = new Delivery(this.listeners, records, (this instanceof Records)
				? this.listeners.asyncRetries().begin(records.get(0), acknowledgment) : acknowledgment);
		BlockedRecordHandling.beginDelivery(this.transactional);
		LookAhead lookAhead = (this instanceof Records) ? LookAhead.begin(records.get(0)) : null;
		Delivery previous = Delivery.bind(delivery);
		try {
			listener.accept(delivery.acknowledgment());
			delivery.rethrowIfBlocked();
			if (this instanceof Records) {
				delivery.returned(this.filtering);
			}
		}
		catch (RuntimeException | Error ex) {
			// Advice around the method may have replaced the exception.
			delivery.rethrowIfBlocked();
			throw ex;
		}
		finally {
			Delivery.unbind(delivery, previous);
			if (delivery.blocked() == null) {
				this.listeners.blockedRecords().passed(records);
			}
			if (lookAhead != null) {
				lookAhead.end();
			}
			delivery.endAsync();
			// The container asks the error handler of a batch whether it seeks by itself.
			if (this instanceof Records) {
				BlockedRecordHandling.setBlocked(delivery.blocked());
			}
		}
	}

	abstract List<? extends ConsumerRecord<?, ?>> records(D data);

	final void call(D data, @Nullable Acknowledgment acknowledgment, @Nullable Consumer<?, ?> consumer) {
		switch (this.delegateType) {
			case ACKNOWLEDGING_CONSUMER_AWARE -> this.delegate.onMessage(data, acknowledgment, consumer);
			case ACKNOWLEDGING -> this.delegate.onMessage(data, acknowledgment);
			case CONSUMER_AWARE -> this.delegate.onMessage(data, consumer);
			case SIMPLE -> this.delegate.onMessage(data);
		}
	}

	// The container calls the method for the type of the innermost delegate.
	@Override
	public void onMessage(D data) {
		onMessage(data, null, null);
	}

	@Override
	public void onMessage(D data, @Nullable Acknowledgment acknowledgment) {
		onMessage(data, acknowledgment, null);
	}

	@Override
	public void onMessage(D data, @Nullable Consumer<?, ?> consumer) {
		onMessage(data, null, consumer);
	}

	@Override
	public void onMessage(D data, @Nullable Acknowledgment acknowledgment, @Nullable Consumer<?, ?> consumer) {
		deliver(records(data), acknowledgment, (own) -> call(data, own, consumer));
	}

	// Pass a record to the delegate outside of a delivery, so that it converts and
	// filters the record.
	public abstract void probe(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, Consumer<?, ?> consumer);

	// The container calls it on the thread of each consumer before the first delivery.
	@Override
	public void registerSeekCallback(ConsumerSeekCallback callback) {
		this.listeners.asyncRetries().register(this.delegate, callback);
		super.registerSeekCallback(callback);
	}

	@Override
	public void onPartitionsRevoked(@Nullable Collection<TopicPartition> partitions) {
		LookAhead.release();
		if (partitions != null) {
			BlockedRecordHandling.revoked(partitions);
			this.listeners.asyncRetries().revoked(partitions);
			this.listeners.identities().revoked(partitions);
			this.listeners.blockedRecords().revoked(partitions);
		}
		super.onPartitionsRevoked(partitions);
	}

	@Override
	public void onPartitionsAssigned(Map<TopicPartition, Long> assignments, ConsumerSeekCallback callback) {
		this.listeners.asyncRetries().assigned();
		this.listeners.identities().assigned(assignments.keySet());
		super.onPartitionsAssigned(assignments, callback);
		BlockedRecordHandling.assigned(assignments.keySet());
	}

	// Spring Kafka's base class does not hand on this method and the next one.
	@Override
	public void unregisterSeekCallback() {
		LookAhead.release();
		this.listeners.blockedRecords().closed();
		ConsumerLocal.end();
		if (this.delegate instanceof ConsumerSeekAware aware) {
			aware.unregisterSeekCallback();
		}
	}

	@Override
	public void onFirstPoll() {
		if (this.delegate instanceof ConsumerSeekAware aware) {
			try {
				aware.onFirstPoll();
			}
			catch (RuntimeException ex) {
				BlockedRecordHandling.leavePoll();
				throw ex;
			}
		}
	}

	private static final class Records<K, V> extends DeliveryListener<MessageListener<K, V>, ConsumerRecord<K, V>>
			implements AcknowledgingConsumerAwareMessageListener<K, V>, AsyncRepliesAware {

		Records(MessageListener<K, V> delegate, ProtectedListeners listeners, boolean transactional) {
			super(delegate, listeners, transactional);
		}

		@Override
		List<ConsumerRecord<K, V>> records(ConsumerRecord<K, V> data) {
			return List.of(data);
		}

		@Override
		@SuppressWarnings("unchecked")
		public void probe(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			call((ConsumerRecord<K, V>) record, acknowledgment, consumer);
		}

		// The container does not ask the delegate.
		@Override
		public boolean isAsyncReplies() {
			return this.delegate instanceof AsyncRepliesAware aware && aware.isAsyncReplies();
		}

	}

	private static final class Batches<K, V>
			extends DeliveryListener<BatchMessageListener<K, V>, List<ConsumerRecord<K, V>>>
			implements BatchAcknowledgingConsumerAwareMessageListener<K, V> {

		Batches(BatchMessageListener<K, V> delegate, ProtectedListeners listeners, boolean transactional) {
			super(delegate, listeners, transactional);
		}

		@Override
		List<ConsumerRecord<K, V>> records(List<ConsumerRecord<K, V>> data) {
			return data;
		}

		@Override
		@SuppressWarnings("unchecked")
		public void probe(ConsumerRecord<?, ?> record, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			List<ConsumerRecord<K, V>> records = List.of((ConsumerRecord<K, V>) record);
			if (wantsPollResult()) {
				this.delegate.onMessage(new ConsumerRecords<>(Map.of(Coordinates.partition(record), records), Map.of()),
						acknowledgment, (Consumer<K, V>) consumer);
			}
			else {
				call(records, acknowledgment, consumer);
			}
		}

		@Override
		public boolean wantsPollResult() {
			return this.delegate.wantsPollResult();
		}

		@Override
		public void onMessage(ConsumerRecords<K, V> records, @Nullable Acknowledgment acknowledgment,
				Consumer<K, V> consumer) {
			List<ConsumerRecord<K, V>> list = new ArrayList<>(records.count());
			records.forEach(list::add);
			deliver(list, acknowledgment, (own) -> this.delegate.onMessage(records, own, consumer));
		}

	}

}
