/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

import dev.idempotency.Threads;

/**
 * Creates the producer of a relay. It connects to the same cluster as the producers of
 * the application, also after the application has switched to another cluster.
 * <p>
 * The producer has one request in flight for each broker, and therefore sends the next
 * batch of a partition only when it has completed the previous one. If it is stopped
 * while it completes a batch, no later batch of the partition is sent.
 */
final class RelayProducer {

	private static final Log logger = LogFactory.getLog(RelayProducer.class);

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

	// With several requests in flight, a batch behind a failed one may already have
	// arrived. The broker accepts any sequence number from a producer that it does not
	// know, so that idempotence alone does not prevent this.
	private static final int MAX_IN_FLIGHT = 1;

	// A hot key gets one batch for each round trip to the broker.
	private static final int BATCH_SIZE = 128 * 1024;

	// Enough for a request with many partitions while another one is in flight.
	private static final int BATCHES = 16;

	// The relay limits the messages in flight by the size of a batch.
	private static final int MIN_BATCH_SIZE = 1024;

	private static final int MAX_BATCH_SIZE = 1024 * 1024;

	private static final String SPLITS = "batch-split-total";

	private final ProducerFactory<byte[], byte[]> application;

	private final int number;

	private final Duration sendTimeout;

	private Map<String, Object> configuration;

	private int maxBytesInFlight;

	// Written by the thread of the relay and by the one that closes the context, read by
	// that of the producer.
	private volatile @Nullable Open open;

	private volatile boolean destroyed;

	// Written by the thread of the producer, read by that of the relay.
	private volatile boolean unbatched;

	// The number of split batches at the beginning of the round.
	private volatile double splitsBefore;

	// Its listeners do not see the messages, so any types of key and value fit.
	@SuppressWarnings("unchecked")
	RelayProducer(ProducerFactory<?, ?> application, Duration sendTimeout, int number) {
		this.application = (ProducerFactory<byte[], byte[]>) application;
		this.number = number;
		this.sendTimeout = sendTimeout;
		configure(application.getConfigurationProperties());
	}

	RelayProducer another(int distance) {
		return new RelayProducer(this.application, this.sendTimeout, this.number + distance);
	}

	private void configure(Map<String, Object> current) {
		Map<String, Object> configuration = new HashMap<>(current);
		configuration.remove(ProducerConfig.TRANSACTIONAL_ID_CONFIG);
		configuration.remove(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG);
		configuration.remove(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG);
		configuration.put(ProducerConfig.ACKS_CONFIG, "all");
		configuration.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
		configuration.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, MAX_IN_FLIGHT);
		configuration.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
		// Messages collect in the next batch while the previous one is in flight.
		configuration.put(ProducerConfig.LINGER_MS_CONFIG, 0);
		// The producer refuses each message if its memory does not hold a batch.
		int size = (int) Math.min(number(current, ProducerConfig.BATCH_SIZE_CONFIG, BATCH_SIZE),
				number(current, ProducerConfig.BUFFER_MEMORY_CONFIG, Integer.MAX_VALUE) / BATCHES);
		configuration.put(ProducerConfig.BATCH_SIZE_CONFIG, this.unbatched ? 0 : size);
		configuration.computeIfPresent(ProducerConfig.INTERCEPTOR_CLASSES_CONFIG,
				(name, value) -> withoutKeyInterceptor(value));
		long timeout = this.sendTimeout.toMillis();
		configuration.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, timeout / 4);
		configuration.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, (int) (timeout * 3 / 4));
		configuration.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) (timeout * 3 / 8));
		Object clientId = current.get(ProducerConfig.CLIENT_ID_CONFIG);
		configuration.put(ProducerConfig.CLIENT_ID_CONFIG,
				((clientId != null) ? clientId + "-" : "") + "idempotency-outbox-" + this.number);
		this.maxBytesInFlight = BATCHES * Math.max(MIN_BATCH_SIZE, Math.min(size, MAX_BATCH_SIZE));
		this.configuration = configuration;
	}

	private static long number(Map<String, Object> configuration, String name, long otherwise) {
		Object number = ConfigDef.parseType(name, configuration.get(name), ConfigDef.Type.LONG);
		return (number != null) ? (Long) number : otherwise;
	}

	// A repeated publication must not get another key in another header.
	private static List<Object> withoutKeyInterceptor(Object interceptors) {
		Collection<?> all = (interceptors instanceof Collection<?> several) ? several
				: List.of(StringUtils.tokenizeToStringArray(String.valueOf(interceptors), ","));
		return all.stream()
			.filter((one) -> !one.equals(IdempotencyKeyInterceptor.class)
					&& !String.valueOf(one).trim().equals(IdempotencyKeyInterceptor.class.getName()))
			.collect(Collectors.toList());
	}

	// Whether the partition of a message depends on its key only. A partitioner of
	// the application may distribute messages with the same key.
	boolean isPartitionedByKey() {
		return this.configuration.get(ProducerConfig.PARTITIONER_CLASS_CONFIG) == null && !Boolean
			.parseBoolean(String.valueOf(this.configuration.get(ProducerConfig.PARTITIONER_IGNORE_KEYS_CONFIG)));
	}

	int maxBytesInFlight() {
		return this.maxBytesInFlight;
	}

	Producer<byte[], byte[]> get() {
		Open current = this.open;
		return ((current != null) ? current : open()).producer();
	}

	// Whether the producer has to split batches, and did not do so in time. It is
	// then replaced, before the next round, by one that sends each message in a
	// batch of its own. Clients of Kafka before version 4.2 split a batch without
	// end if the topic accepts less than batch.size (KAFKA-8350): its messages are
	// neither sent nor refused until they time out.
	boolean failsToSplit(String topic) {
		Open current = this.open;
		if (this.unbatched || current == null || current.splits() <= this.splitsBefore) {
			return false;
		}
		this.unbatched = true;
		logger.warn("A message to the topic " + topic + " has timed out while the producer of the outbox relay split "
				+ "batches, because a topic accepts less than its 'batch.size'. Until the application restarts, the relay "
				+ "sends each message in a batch of its own. Set 'spring.kafka.producer.batch-size' to less than the "
				+ "'max.message.bytes' of each topic");
		return true;
	}

	private synchronized Open open() {
		Assert.state(!this.destroyed, "The publisher of the outbox is closed");
		Open opened = Open.of(this.configuration, this.application.getListeners());
		this.splitsBefore = 0;
		this.open = opened;
		return opened;
	}

	// Replace the producer if it is broken, or if the application has switched to another
	// cluster. The previous one sends nothing more.
	void beginRound(boolean broken) {
		Map<String, Object> current;
		try {
			current = this.application.getConfigurationProperties();
		}
		catch (RuntimeException ex) {
			// It counts as an outage and not as a refusal of the message.
			throw new KafkaException("The ProducerFactory of the application did not return its configuration", ex);
		}
		if (broken || !Objects.equals(current.get(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG),
				this.configuration.get(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG))) {
			close(Duration.ZERO);
			configure(current);
		}
		Open kept = this.open;
		this.splitsBefore = (kept != null) ? kept.splits() : 0;
	}

	// Send nothing more, for the thread of the producer. The results of all messages
	// that are not acknowledged complete with an exception.
	void abandon() {
		Open current = this.open;
		if (current != null) {
			current.stop(Duration.ZERO);
		}
	}

	void close() {
		close(CLOSE_TIMEOUT);
	}

	void destroy() {
		synchronized (this) {
			this.destroyed = true;
		}
		close(CLOSE_TIMEOUT);
	}

	boolean isDestroyed() {
		return this.destroyed;
	}

	// An interceptor may block the thread of the producer, for which close() would wait
	// without a limit. The first thing that close() does is to stop that thread.
	private void close(Duration timeout) {
		Open closing;
		synchronized (this) {
			closing = this.open;
			this.open = null;
		}
		if (closing == null) {
			return;
		}
		Thread thread = Threads.daemon("idempotency-outbox-producer-close", () -> closing.close(timeout));
		thread.start();
		Threads.awaitEnd(thread, timeout.plus(CLOSE_TIMEOUT));
		if (thread.isAlive() && !Thread.currentThread().isInterrupted()) {
			logger.warn("The producer of the outbox relay did not close within " + timeout.plus(CLOSE_TIMEOUT)
					+ ". It sends nothing more. Check whether an interceptor of the producer blocks");
		}
	}

	/**
	 * An open producer.
	 *
	 * @param id the name for listeners, as a factory without a bean name gives it
	 * @param producer the producer
	 * @param splitBatches the number of batches that the producer has split
	 * @param listeners register meters of the producer, and do not see the messages
	 */
	private record Open(String id, Producer<byte[], byte[]> producer, @Nullable Metric splitBatches,
			List<ProducerFactory.Listener<byte[], byte[]>> listeners) {

		static Open of(Map<String, Object> configuration, List<ProducerFactory.Listener<byte[], byte[]>> listeners) {
			Producer<byte[], byte[]> producer = new KafkaProducer<>(configuration, new ByteArraySerializer(),
					new ByteArraySerializer());
			Metric splitBatches = producer.metrics()
				.values()
				.stream()
				.filter((metric) -> metric.metricName().name().equals(SPLITS))
				.findFirst()
				.orElse(null);
			Open open = new Open("not.managed.by.Spring." + configuration.get(ProducerConfig.CLIENT_ID_CONFIG),
					producer, splitBatches, listeners);
			open.notifyListeners((listener) -> listener.producerAdded(open.id, open.producer));
			return open;
		}

		double splits() {
			return (this.splitBatches != null && this.splitBatches.metricValue() instanceof Number count)
					? count.doubleValue() : 0;
		}

		// An interceptor may throw an exception when it is closed. The producer is then
		// closed all the same.
		void stop(Duration timeout) {
			try {
				this.producer.close(timeout);
			}
			catch (RuntimeException ex) {
				logger.debug("Closing the producer of the outbox relay failed", ex);
			}
		}

		void close(Duration timeout) {
			stop(timeout);
			notifyListeners((listener) -> listener.producerRemoved(this.id, this.producer));
		}

		private void notifyListeners(Consumer<ProducerFactory.Listener<byte[], byte[]>> event) {
			for (ProducerFactory.Listener<byte[], byte[]> listener : this.listeners) {
				try {
					event.accept(listener);
				}
				catch (RuntimeException ex) {
					logger.warn(
							"The listener " + listener + " of the ProducerFactory threw an exception for the "
									+ "producer of the outbox relay, which publishes all the same. Fix the listener",
							ex);
				}
			}
		}

	}

}
