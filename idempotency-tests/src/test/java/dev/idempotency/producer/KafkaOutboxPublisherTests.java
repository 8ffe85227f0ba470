/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Utils;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.ABSwitchCluster;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxPublisher.FailureKind;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordedProducers;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link KafkaOutboxPublisher}.
 */
class KafkaOutboxPublisherTests {

	private static final Duration SEND_TIMEOUT = Duration.ofSeconds(8);

	// No broker listens on this port.
	private static final String NOWHERE = "localhost:1";

	private static final int GROWN = 4;

	private final String topic = Servers.newTopic("publisher", 1);

	private final DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(
			Map.of("bootstrap.servers", NOWHERE), new StringSerializer(), new StringSerializer());

	private final RecordedProducers producers = new RecordedProducers();

	@AfterEach
	void close() {
		this.factory.destroy();
	}

	private KafkaOutboxPublisher connected() {
		this.factory.setBootstrapServersSupplier(() -> Servers.kafka().getBrokersAsString());
		this.producers.record(this.factory);
		return new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
	}

	private CompletionStage<?> published(KafkaOutboxPublisher publisher, String value) {
		publisher.beginRound();
		return publisher.publish(row(null, value));
	}

	private OutboxRow row(byte @Nullable [] key, String value) {
		return new OutboxRow(UUID.randomUUID(), this.topic, key, value.getBytes(), List.of(), "key", "type", "id",
				"type");
	}

	@Test
	void messagesAreSentToTheNewClusterAfterASwitch() {
		ABSwitchCluster cluster = new ABSwitchCluster(Servers.kafka().getBrokersAsString(), NOWHERE);
		this.factory.setBootstrapServersSupplier(cluster);
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
		assertThat(published(publisher, "first")).succeedsWithin(SEND_TIMEOUT);
		cluster.secondary();
		assertThat(published(publisher, "nowhere")).failsWithin(SEND_TIMEOUT)
			.withThrowableThat()
			.withCauseInstanceOf(TimeoutException.class);
		cluster.primary();
		assertThat(published(publisher, "second")).succeedsWithin(SEND_TIMEOUT);
		assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).containsExactly("first", "second");
		publisher.destroy();
	}

	@Test
	void messagesWithOneKeyGoToOnePartitionWhileTheTopicGrows() throws Exception {
		Map<String, Object> settings = Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(),
				"metadata.max.age.ms", 100);
		DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(settings,
				new StringSerializer(), new StringSerializer());
		this.producers.record(factory);
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(factory, SEND_TIMEOUT, Set.of());
		byte[] key = IntStream.range(0, 100)
			.mapToObj((i) -> ("key" + i).getBytes())
			.filter((one) -> Utils.toPositive(Utils.murmur2(one)) % GROWN != 0)
			.findFirst()
			.orElseThrow();
		publisher.beginRound();
		assertThat(publisher.publish(row(key, "first"))).succeedsWithin(SEND_TIMEOUT);
		try (Admin admin = Admin.create(settings); Producer<String, String> producer = factory.createProducer()) {
			admin.createPartitions(Map.of(this.topic, NewPartitions.increaseTo(GROWN))).all().get();
			// That of the relay, and the one above.
			assertThat(this.producers.opened()).hasSize(2);
			Awaitility.await()
				.until(() -> this.producers.opened()
					.stream()
					.allMatch((one) -> one.partitionsFor(this.topic).size() == GROWN));
			assertThat(publisher.publish(row(key, "second"))).succeedsWithin(SEND_TIMEOUT);
			assertThat(published(publisher, "no key")).succeedsWithin(SEND_TIMEOUT);
			assertThat(publisher.publish(row(key, "third"))).succeedsWithin(SEND_TIMEOUT);
			producer.send(new ProducerRecord<>(this.topic, new String(key), "by a producer")).get();
		}
		Map<String, Integer> partitions = Kafka.read(this.topic)
			.stream()
			.collect(Collectors.toMap(ConsumerRecord::value, ConsumerRecord::partition));
		assertThat(partitions).containsEntry("first", 0).containsEntry("second", 0);
		assertThat(partitions.get("third")).isNotZero().isEqualTo(partitions.get("by a producer"));
		publisher.destroy();
		factory.destroy();
	}

	// Otherwise, the relay would start the next round without a pause.
	@Test
	void producerThatCannotBeCreatedAfterAnAbandonedRoundIsAnOutage() {
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
		publisher.beginRound();
		publisher.abandon();
		this.factory.setBootstrapServersSupplier(() -> {
			throw new IllegalStateException("no servers are known");
		});
		published(publisher, "x").handle((done, error) -> publisher.kindOf(error))
			.thenAccept((kind) -> assertThat(kind).isEqualTo(FailureKind.UNAVAILABLE))
			.toCompletableFuture()
			.join();
		publisher.destroy();
	}

	@Test
	void abandonedRoundSendsNothingMoreAndTheNextOneWorks() {
		DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()), new StringSerializer(),
				new StringSerializer());
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(factory, SEND_TIMEOUT, Set.of());
		byte[] key = "key".getBytes();
		publisher.beginRound();
		List<CompletionStage<?>> results = new ArrayList<>();
		CompletionStage<?> first = publisher.publish(row(key, "first"));
		// On the thread of the producer, which has sent no other batch yet.
		CompletionStage<?> abandoned = first.thenRun(publisher::abandon);
		while (!abandoned.toCompletableFuture().isDone()) {
			results.add(publisher.publish(row(key, String.valueOf(results.size()))));
		}
		results.add(publisher.publish(row(key, "last")));
		for (CompletionStage<?> result : results) {
			result.handle((done, error) -> (error != null) ? publisher.kindOf(error) : null)
				.toCompletableFuture()
				.orTimeout(SEND_TIMEOUT.toSeconds(), TimeUnit.SECONDS)
				.thenAccept((kind) -> assertThat(kind).isIn(null, FailureKind.ABANDONED))
				.join();
		}
		assertThat(results.get(results.size() - 1)).isCompletedExceptionally();
		List<String> sent = Kafka.read(this.topic).stream().map(ConsumerRecord::value).toList();
		publisher.beginRound();
		assertThat(publisher.publish(row(key, "next"))).succeedsWithin(SEND_TIMEOUT);
		// The messages of the first batch only.
		List<String> expected = new ArrayList<>(sent);
		expected.add("next");
		assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).isEqualTo(expected);
		assertThat(sent).startsWith("first").doesNotContain("last");
		publisher.destroy();
		factory.destroy();
	}

	@Test
	void producersAreClosedAndOpenedAgainWhenTheRelayIsRestarted() {
		KafkaOutboxPublisher publisher = connected();
		assertThat(published(publisher, "first")).succeedsWithin(SEND_TIMEOUT);
		publisher.relayStopped();
		assertThat(this.producers.closed()).hasSize(1);
		assertThat(published(publisher, "second")).succeedsWithin(SEND_TIMEOUT);
		assertThat(this.producers.opened()).hasSize(2);
		publisher.destroy();
		assertThat(this.producers.closed()).containsExactlyElementsOf(this.producers.opened());
	}

	@Test
	void allOtherPublishersAreClosedTogether() {
		KafkaOutboxPublisher publisher = connected();
		for (int i = 0; i < 2; i++) {
			OutboxPublisher other = publisher.another();
			other.beginRound();
			assertThat(other.publish(row(null, "x"))).succeedsWithin(SEND_TIMEOUT);
		}
		publisher.destroy();
		assertThat(this.producers.closed()).hasSize(2).containsExactlyElementsOf(this.producers.opened());
	}

	// A relay that did not stop in time may still send messages.
	@Test
	void closedPublisherOpensNoProducer() {
		KafkaOutboxPublisher publisher = connected();
		publisher.destroy();
		OutboxPublisher other = publisher.another();
		for (OutboxPublisher closed : List.of(publisher, other)) {
			closed.beginRound();
			assertThat(
					closed.publish(row(null, "x")).handle((done, error) -> closed.kindOf(error)).toCompletableFuture())
				.isCompletedWithValue(FailureKind.UNAVAILABLE);
		}
		assertThat(this.producers.opened()).isEmpty();
	}

	@Test
	void failingListenerOfTheFactoryIsLoggedAndStopsNothing() {
		this.factory.addListener(new FailingListener(this.topic));
		try (Logs logs = Logs.about(this.topic)) {
			KafkaOutboxPublisher publisher = connected();
			assertThat(published(publisher, "x")).succeedsWithin(SEND_TIMEOUT);
			assertThat(this.producers.opened()).hasSize(1);
			publisher.destroy();
			assertThat(this.producers.closed()).hasSize(1);
			assertThat(logs.messages("WARN")).hasSize(2).allMatch((line) -> line.endsWith("Fix the listener"));
		}
	}

	@Test
	void partitionerOfTheApplicationPreventsThatMessagesWithOneKeyAreInFlightTogether() {
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
		assertThat(publisher.maxBytesInFlight()).isEqualTo(2 * 1024 * 1024);
		this.factory.updateConfigs(Map.of("partitioner.class", RoundRobinPartitioner.class.getName()));
		assertThat(new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of()).maxBytesInFlight()).isZero();
		this.factory.updateConfigs(Map.of("partitioner.ignore.keys", "true"));
		this.factory.removeConfig("partitioner.class");
		assertThat(new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of()).maxBytesInFlight()).isZero();
	}

	@Test
	void messagesAreSentWithAMemoryThatIsSmallerThanTheUsualBatch() {
		this.factory.updateConfigs(Map.of("buffer.memory", "65536"));
		KafkaOutboxPublisher publisher = connected();
		assertThat(published(publisher, "x")).succeedsWithin(SEND_TIMEOUT);
		assertThat(publisher.maxBytesInFlight()).isEqualTo(65536);
		publisher.destroy();
	}

	// Its text may change with each version of the client.
	@Test
	void neighbourOfARefusedMessageIsNotRecognizedByAText() {
		KafkaOutboxPublisher publisher = new KafkaOutboxPublisher(this.factory, SEND_TIMEOUT, Set.of());
		assertThat(publisher.kindOf(new KafkaException("Some text"))).isEqualTo(FailureKind.ABANDONED);
		assertThat(publisher.kindOf(new KafkaException("Some text", new IllegalStateException())))
			.isEqualTo(FailureKind.UNAVAILABLE);
	}

	/**
	 * A listener that throws exceptions.
	 *
	 * @param name its name in the log
	 */
	private record FailingListener(String name) implements ProducerFactory.Listener<String, String> {

		@Override
		public void producerAdded(String id, Producer<String, String> producer) {
			throw new IllegalStateException("added");
		}

		@Override
		public void producerRemoved(String id, Producer<String, String> producer) {
			throw new IllegalStateException("removed");
		}

	}

}
