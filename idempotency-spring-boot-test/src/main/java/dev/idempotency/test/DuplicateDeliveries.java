/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.SendResult;
import org.springframework.messaging.Message;
import org.springframework.util.Assert;

import dev.idempotency.test.ListenerProgress.SentRecord;

/**
 * Delivers records several times, as Kafka and its producers do after failures:
 *
 * <pre class="code">
 * duplicates.of("payments", "p-1", payment).sendTwice();
 * </pre>
 *
 * The records are sent with the {@link KafkaTemplate} of the application, so its
 * serializers and interceptors apply. If the application only receives, its producer can
 * send only text: a payload of another type is then sent as JSON. A copy has the headers
 * that the first record was sent with. Except for {@link Records#send()}, each method
 * returns when the deliveries have ended in each running listener of the topic: each of
 * its consumer groups has committed an offset behind the records, and none of them is in
 * a retry topic. A delivery has ended when it was processed, was a duplicate, or failed
 * and was given up. A blocked record has not ended. If the template is transactional, the
 * markers of its transactions hide whether retry topics are empty, so the method does not
 * wait for them. Listeners are the containers of {@code @KafkaListener} methods; those of
 * Spring Cloud Stream are not known.
 * <p>
 * {@link Records#afterRestart()} and {@link Records#redelivered()} stop listeners, so
 * tests that share a context must not run concurrently with them.
 * <p>
 * If the deliveries do not end within the timeout, 30 seconds by default, the method
 * throws a {@link org.awaitility.core.ConditionTimeoutException} that names the record,
 * the listener and the last outcomes.
 *
 * @since 0.1.0
 */
public final class DuplicateDeliveries implements DisposableBean {

	private static final Duration TIMEOUT = Duration.ofSeconds(30);

	private final ObjectProvider<KafkaTemplate<?, ?>> templates;

	private final ListenerProgress progress;

	private final ListenerPayloads payloads;

	private final String header;

	private final @Nullable KafkaTemplate<?, ?> template;

	private final Duration timeout;

	// Records whose end has not been waited for.
	private final Queue<SentRecord> pending;

	DuplicateDeliveries(ObjectProvider<KafkaTemplate<?, ?>> templates, ListenerProgress progress,
			ListenerPayloads payloads, String header) {
		this(templates, progress, payloads, header, null, TIMEOUT, new ConcurrentLinkedQueue<>());
	}

	private DuplicateDeliveries(ObjectProvider<KafkaTemplate<?, ?>> templates, ListenerProgress progress,
			ListenerPayloads payloads, String header, @Nullable KafkaTemplate<?, ?> template, Duration timeout,
			Queue<SentRecord> pending) {
		this.templates = templates;
		this.progress = progress;
		this.payloads = payloads;
		this.header = header;
		this.template = template;
		this.timeout = timeout;
		this.pending = pending;
	}

	/**
	 * Return a tool with another timeout.
	 * @param timeout the longest time to wait for the end of deliveries
	 * @return the tool
	 */
	public DuplicateDeliveries within(Duration timeout) {
		return new DuplicateDeliveries(this.templates, this.progress, this.payloads, this.header, this.template,
				timeout, this.pending);
	}

	/**
	 * Return a tool that sends with a certain template. It is required if the context has
	 * several and none is primary.
	 * @param template the template
	 * @return the tool
	 */
	public DuplicateDeliveries with(KafkaTemplate<?, ?> template) {
		return new DuplicateDeliveries(this.templates, this.progress, this.payloads, this.header, template,
				this.timeout, this.pending);
	}

	/**
	 * Choose a record by its idempotency key.
	 * @param topic the topic
	 * @param key the idempotency key, sent in the first header of
	 * {@code idempotency.key.headers}
	 * @param payload the payload
	 * @return the record
	 */
	public Records of(String topic, String key, Object payload) {
		ProducerRecord<Object, Object> record = new ProducerRecord<>(topic, payload);
		record.headers().add(this.header, key.getBytes(StandardCharsets.UTF_8));
		return new Records(List.of(record));
	}

	/**
	 * Choose records.
	 * @param records the records, in the order in which they are first sent
	 * @return the records
	 */
	public Records of(ProducerRecord<?, ?>... records) {
		return new Records(
				Arrays.stream(records).<ProducerRecord<Object, Object>>map(DuplicateDeliveries::cast).toList());
	}

	/**
	 * Choose messages. They are converted as {@link KafkaTemplate#send(Message)
	 * KafkaTemplate} does.
	 * @param messages the messages, in the order in which they are first sent
	 * @return the records
	 */
	public Records of(Message<?>... messages) {
		KafkaTemplate<?, ?> kafka = template();
		return new Records(Arrays.stream(messages)
			.<ProducerRecord<Object, Object>>map(
					(message) -> cast(kafka.getMessageConverter().fromMessage(message, kafka.getDefaultTopic())))
			.toList());
	}

	/**
	 * Wait until the deliveries of all records have ended that were sent with
	 * {@link Records#send()}.
	 */
	public void awaitEnded() {
		List<SentRecord> records = new ArrayList<>(this.pending);
		this.progress.awaitEnded(records, this.timeout);
		this.pending.removeAll(records);
	}

	@SuppressWarnings("unchecked")
	private static ProducerRecord<Object, Object> cast(ProducerRecord<?, ?> record) {
		return (ProducerRecord<Object, Object>) record;
	}

	@SuppressWarnings("unchecked")
	private KafkaTemplate<Object, Object> template() {
		KafkaTemplate<?, ?> kafka = (this.template != null) ? this.template : this.templates.getIfUnique();
		Assert.state(kafka != null, "The context has no KafkaTemplate bean, or several. Declare one, mark one as "
				+ "@Primary, or name it with 'duplicates.with(template)'");
		return (KafkaTemplate<Object, Object>) kafka;
	}

	private ProducerRecord<Object, Object> sendable(ProducerRecord<Object, Object> record) {
		return this.payloads.sendable(record, template().getProducerFactory());
	}

	private CompletableFuture<SendResult<Object, Object>> sendSoon(ProducerRecord<Object, Object> record) {
		KafkaTemplate<Object, Object> kafka = template();
		return Objects.requireNonNull((kafka.isTransactional() && !kafka.inTransaction())
				? kafka.executeInTransaction((operations) -> operations.send(record)) : kafka.send(record));
	}

	private SentRecord sent(CompletableFuture<SendResult<Object, Object>> sending) {
		try {
			RecordMetadata metadata = sending.get(this.timeout.toMillis(), TimeUnit.MILLISECONDS).getRecordMetadata();
			return new SentRecord(new TopicPartition(metadata.topic(), metadata.partition()), metadata.offset(),
					template().isTransactional());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while a record was sent", ex);
		}
		catch (ExecutionException | TimeoutException ex) {
			throw new IllegalStateException("A record could not be sent. Check the broker and the serializers", ex);
		}
	}

	// The headers of a record that has been sent are closed.
	private static ProducerRecord<Object, Object> copy(ProducerRecord<Object, Object> record,
			@Nullable Integer partition) {
		return new ProducerRecord<>(record.topic(), partition, record.timestamp(), record.key(), record.value(),
				record.headers());
	}

	@Override
	public void destroy() {
		this.progress.destroy();
	}

	/**
	 * Records that are delivered several times.
	 */
	public final class Records {

		private final List<ProducerRecord<Object, Object>> records;

		private Records(List<ProducerRecord<Object, Object>> records) {
			Assert.isTrue(!records.isEmpty(), "At least one record is required");
			this.records = records;
		}

		/**
		 * Send each record once, without waiting for a delivery.
		 * @see DuplicateDeliveries#awaitEnded()
		 */
		public void send() {
			DuplicateDeliveries.this.pending.addAll(sendAll(this.records));
		}

		/**
		 * Send each record, wait for the end of the deliveries, and send each again: the
		 * producer has repeated a request whose acknowledgment was lost.
		 */
		public void sendTwice() {
			List<ProducerRecord<Object, Object>> again = new ArrayList<>();
			awaitEnded(sendAll(this.records, again));
			awaitEnded(sendAll(again));
		}

		/**
		 * Send copies of each record to the partitions of its topic in turn, without
		 * waiting between them, so that several threads receive them at the same time.
		 * @param copies the number of copies, 2 or more
		 * @throws IllegalStateException if the topic has one partition, or its listeners
		 * have one thread: the copies could not meet, and the test would prove nothing
		 */
		public void atOnce(int copies) {
			Assert.isTrue(copies > 1, () -> "'copies' is " + copies + ", but must be 2 or more");
			List<CompletableFuture<SendResult<Object, Object>>> sending = new ArrayList<>();
			for (ProducerRecord<Object, Object> record : this.records) {
				int partitions = partitions(record.topic());
				ProducerRecord<Object, Object> next = sendable(record);
				for (int copy = 0; copy < copies; copy++) {
					next = copy(next, copy % partitions);
					sending.add(sendSoon(next));
				}
			}
			template().flush();
			awaitEnded(sending.stream().map(DuplicateDeliveries.this::sent).toList());
		}

		private int partitions(String topic) {
			awaitAssigned(topic);
			int partitions = template().partitionsFor(topic).size();
			int threads = DuplicateDeliveries.this.progress.threads(topic);
			Assert.state(partitions > 1, () -> "The topic '" + topic
					+ "' has one partition, so copies cannot be delivered at the same time. Create it with more");
			Assert.state(threads > 1,
					() -> "The listeners of the topic '" + topic + "' have one thread, so copies "
							+ "cannot be delivered at the same time. Set 'spring.kafka.listener.concurrency' or the "
							+ "'concurrency' of the listener to 2 or more in the test");
			Assert.state(DuplicateDeliveries.this.progress.awaitSpread(topic, partitions) > 1,
					() -> "One thread has all partitions of the topic '" + topic + "' in this context, so copies "
							+ "cannot be delivered at the same time. Stop other members of the consumer group");
			return partitions;
		}

		/**
		 * Send the records in the reverse order, and then all of them again in their own
		 * order. A record without a key and a partition is sent to partition 0, which
		 * keeps the order. With one record it is the same as {@link #sendTwice()}.
		 */
		public void outOfOrder() {
			List<ProducerRecord<Object, Object>> reverse = new ArrayList<>(this.records.stream()
				.map((record) -> copy(record,
						(record.key() == null && record.partition() == null) ? Integer.valueOf(0) : record.partition()))
				.toList());
			Collections.reverse(reverse);
			List<ProducerRecord<Object, Object>> again = new ArrayList<>();
			awaitEnded(sendAll(reverse, again));
			Collections.reverse(again);
			awaitEnded(sendAll(again));
		}

		/**
		 * Send each record, wait for the end of the deliveries, stop the listeners, send
		 * each record again, and start the listeners: their new consumers have no memory
		 * but the store.
		 */
		public void afterRestart() {
			List<ProducerRecord<Object, Object>> again = new ArrayList<>();
			List<SentRecord> sent = sendAll(this.records, again);
			awaitEnded(sent);
			List<SentRecord> copies;
			List<MessageListenerContainer> stopped = DuplicateDeliveries.this.progress.stop(sent);
			try {
				copies = sendWithoutListeners(again);
			}
			finally {
				stopped.forEach(MessageListenerContainer::start);
			}
			awaitEnded(copies);
		}

		/**
		 * Send each record once, wait for the end of the deliveries, and set the
		 * committed offsets back: the same record is redelivered to a new consumer, as
		 * after a crash between the effect and the commit of the offset. The listeners
		 * stop and start for it. Later records of the partition are redelivered too.
		 */
		public void redelivered() {
			List<SentRecord> sent = sendAll(this.records);
			awaitEnded(sent);
			Set<String> groups = DuplicateDeliveries.this.progress.groups(sent);
			List<MessageListenerContainer> stopped = DuplicateDeliveries.this.progress.stop(sent);
			try {
				DuplicateDeliveries.this.progress.rewind(groups, sent, DuplicateDeliveries.this.timeout);
			}
			finally {
				stopped.forEach(MessageListenerContainer::start);
			}
			awaitEnded(sent);
		}

		private List<SentRecord> sendAll(List<ProducerRecord<Object, Object>> toSend) {
			return sendAll(toSend, new ArrayList<>());
		}

		private List<SentRecord> sendAll(List<ProducerRecord<Object, Object>> toSend,
				List<ProducerRecord<Object, Object>> copies) {
			toSend.stream().map(ProducerRecord::topic).distinct().forEach(this::awaitAssigned);
			return sendWithoutListeners(toSend, copies);
		}

		private List<SentRecord> sendWithoutListeners(List<ProducerRecord<Object, Object>> toSend) {
			return sendWithoutListeners(toSend, new ArrayList<>());
		}

		// A record is copied after it was sent, because a producer interceptor may have
		// added its key.
		private List<SentRecord> sendWithoutListeners(List<ProducerRecord<Object, Object>> toSend,
				List<ProducerRecord<Object, Object>> copies) {
			List<SentRecord> sent = new ArrayList<>();
			for (ProducerRecord<Object, Object> record : toSend) {
				ProducerRecord<Object, Object> first = sendable(copy(record, record.partition()));
				sent.add(sent(sendSoon(first)));
				copies.add(copy(first, first.partition()));
			}
			return sent;
		}

		private void awaitAssigned(String topic) {
			DuplicateDeliveries.this.progress.requireBroker();
			template().partitionsFor(topic);
			DuplicateDeliveries.this.progress.awaitAssigned(topic, DuplicateDeliveries.this.timeout);
		}

		private void awaitEnded(List<SentRecord> sent) {
			DuplicateDeliveries.this.progress.awaitEnded(sent, DuplicateDeliveries.this.timeout);
		}

	}

}
