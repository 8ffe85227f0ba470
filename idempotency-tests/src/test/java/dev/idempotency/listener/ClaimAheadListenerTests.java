/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.delivery.PolledRecordsInterceptor;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RecordingObserver;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for listeners that claim the key of the next record together with the completion
 * of the current one. Each app sends its records before its consumer starts, so that one
 * poll returns them all.
 */
@Execution(ExecutionMode.CONCURRENT)
class ClaimAheadListenerTests {

	private static BatchApp app(String... properties) {
		return new BatchApp(Listeners.class, "leased", properties);
	}

	private static Queue<String> handled(BatchApp app) {
		return app.listeners(Listeners.class).handled;
	}

	private static long calls(BatchApp app, String call) {
		return app.listeners(RecordingObserver.class)
			.storeCalls()
			.stream()
			.filter((name) -> name.endsWith(" " + call))
			.count();
	}

	private static void process(BatchApp app, String listener, String... partitions) {
		app.send(listener, partitions);
		app.start(listener);
		app.awaitDone(listener);
	}

	private static void assertCompleted(BatchApp app, String listener, String keys) {
		assertThat(keys.split(" "))
			.allSatisfy((key) -> assertThat(app.record(listener, key).state()).isEqualTo(State.COMPLETED));
	}

	private static void assertFree(BatchApp app, String listener, String key) {
		assertThat(one(app.store()).find(app.key(listener, key)).map(IdempotencyRecord::state).orElse(State.FAILED))
			.isEqualTo(State.FAILED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "redis" })
	void newRecordsOfAPollCostOneRoundTripEachAndOneForTheFirst(String mode) {
		try (BatchApp app = new BatchApp(Listeners.class, mode)) {
			process(app, "plain", "a b c d e f g h", "i j k l");
			assertThat(calls(app, "CLAIM")).isOne();
			assertThat(app.listeners(RecordingObserver.class).storeCalls()).hasSize(13);
			assertThat(handled(app)).hasSize(12).doesNotHaveDuplicates();
			assertCompleted(app, "plain", "a b c d e f g h i j k l");
		}
	}

	@Test
	void keyOfTheNextRecordMayComeFromItsContent() {
		try (BatchApp app = app()) {
			List<String> calls = app.listeners(RecordingObserver.class).storeCalls();
			for (String listener : List.of("bypayload", "byrecord", "coordinates")) {
				calls.clear();
				process(app, listener, listener.equals("coordinates") ? "- - - - -" : "a b c d e");
				assertThat(calls).as(listener).hasSize(6);
			}
		}
	}

	@Test
	void nothingIsClaimedAheadForSomeListeners() {
		try (BatchApp app = app()) {
			for (String listener : List.of("manual", "byargument", "handlers")) {
				app.listeners(RecordingObserver.class).storeCalls().clear();
				process(app, listener, "a b c");
				assertThat(calls(app, "CLAIM")).as(listener).isEqualTo(3);
				assertThat(calls(app, "COMPLETE")).as(listener).isEqualTo(3);
			}
		}
	}

	@Test
	void nothingIsClaimedAheadIfItIsSwitchedOff() {
		try (BatchApp app = app("idempotency.claim-ahead=false")) {
			process(app, "plain", "a b c");
			assertThat(calls(app, "CLAIM")).isEqualTo(3);
		}
	}

	@Test
	@Tag("promise-3")
	void copiesNextToEachOtherAreDuplicates() {
		try (BatchApp app = app()) {
			process(app, "plain", "a a b b a c");
			assertThat(handled(app)).containsExactly("a", "b", "c");
			assertCompleted(app, "plain", "a b c");
		}
	}

	@Test
	void keyOfARecordThatIsNotProcessedIsReleased() {
		try (BatchApp app = app()) {
			for (String listener : List.of("filtered", "intercepted", "conditional")) {
				handled(app).clear();
				process(app, listener, "a x b y x");
				assertThat(handled(app)).as(listener)
					.filteredOn((value) -> !value.equals("x"))
					.containsExactly("a", "b", "y");
				assertCompleted(app, listener, "a b y");
				await().untilAsserted(() -> assertFree(app, listener, "x"));
			}
		}
	}

	@Test
	@Tag("promise-1")
	void recordThatAnInterceptorHasChangedIsClaimedAnew() {
		try (BatchApp app = app()) {
			process(app, "intercepted", "a change b");
			assertThat(handled(app)).containsExactly("a", "changed", "b");
			assertCompleted(app, "intercepted", "a changed b");
			await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> assertFree(app, "intercepted", "change"));
		}
	}

	@Test
	@Tag("promise-1")
	void failedRecordIsRetriedAndTheOnesBehindItAreProcessedOnce() {
		try (BatchApp app = app()) {
			process(app, "plain", "a fail b", "c fail2 d");
			assertThat(handled(app)).containsExactlyInAnyOrder("a", "fail", "fail", "b", "c", "fail2", "fail2", "d");
			assertCompleted(app, "plain", "a fail b c fail2 d");
			assertThat(app.record("plain", "fail").attempt()).isEqualTo(2);
			assertThat(app.record("plain", "b").attempt()).isOne();
		}
	}

	@Test
	@Tag("promise-2")
	void recordOfAnotherOwnerIsProcessedAfterItsRelease() {
		try (BatchApp app = app()) {
			app.hold("plain", "b", Duration.ofSeconds(3));
			process(app, "plain", "a b c");
			assertThat(handled(app)).containsExactly("a", "b", "c");
			assertThat(app.record("plain", "b")).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
				.containsExactly(State.COMPLETED, 2);
		}
	}

	@Test
	void keyIsReleasedWhenTheContainerIsPausedBeforeTheNextRecord() {
		try (BatchApp app = app()) {
			MessageListenerContainer container = app.container("plain");
			container.getContainerProperties().setPauseImmediate(true);
			app.send("plain", "a pause b c");
			app.start("plain");
			await().atMost(Duration.ofSeconds(20)).until(() -> handled(app).contains("pause"));
			await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
				assertThat(one(app.store()).find(app.key("plain", "b"))).isPresent();
				assertFree(app, "plain", "b");
			});
			container.resume();
			app.awaitDone("plain");
			assertThat(handled(app)).containsExactly("a", "pause", "b", "c");
		}
	}

	@Test
	@Tag("promise-1")
	void keyIsReleasedWhenTheContainerIsStoppedBeforeTheNextRecord() {
		try (BatchApp app = app()) {
			MessageListenerContainer container = app.container("plain");
			container.getContainerProperties().setStopImmediate(true);
			app.send("plain", "a stop b c");
			app.start("plain");
			await().atMost(Duration.ofSeconds(20)).until(() -> handled(app).contains("stop") && !container.isRunning());
			await().atMost(Duration.ofMillis(900)).untilAsserted(() -> assertFree(app, "plain", "b"));
			app.start("plain");
			app.awaitDone("plain");
			assertThat(handled(app)).containsExactly("a", "stop", "b", "c");
		}
	}

	@Test
	@SuppressWarnings("unchecked")
	void keyIsReleasedWhenPartitionsAreRevoked() {
		try (BatchApp app = app()) {
			MessageListener<Object, Object> listener = (MessageListener<Object, Object>) app.container("plain")
				.getContainerProperties()
				.getMessageListener();
			TopicPartition partition = new TopicPartition(app.name("plain"), 0);
			List<ConsumerRecord<Object, Object>> polled = List.of(record(partition, 0, "a"), record(partition, 1, "b"));
			PolledRecordsInterceptor interceptor = new PolledRecordsInterceptor();
			interceptor.onConsume(new ConsumerRecords<>(Map.of(partition, polled), Map.of()));
			try {
				listener.onMessage(polled.get(0), null, null);
				assertThat(app.record("plain", "b").state()).isEqualTo(State.IN_PROGRESS);
				((ConsumerSeekAware) listener).onPartitionsRevoked(List.of(partition));
				assertFree(app, "plain", "b");
				listener.onMessage(polled.get(1), null, null);
				assertCompleted(app, "plain", "a b");
			}
			finally {
				((ConsumerSeekAware) listener).unregisterSeekCallback();
			}
		}
	}

	private static ConsumerRecord<Object, Object> record(TopicPartition partition, long offset, String key) {
		ConsumerRecord<Object, Object> record = new ConsumerRecord<>(partition.topic(), partition.partition(), offset,
				null, key);
		record.headers().add(Kafka.KEY_HEADER, key.getBytes(StandardCharsets.UTF_8));
		return record;
	}

	@Test
	@Tag("promise-13")
	void interceptorsOfTheApplicationAreKept() {
		try (BatchApp app = app(
				"spring.kafka.consumer.properties.interceptor.classes=" + FactoryInterceptor.class.getName())) {
			for (String listener : List.of("plain", "byrecord")) {
				app.listeners(RecordingObserver.class).storeCalls().clear();
				process(app, listener, "a b c");
				assertThat(app.listeners(RecordingObserver.class).storeCalls()).as(listener).hasSize(4);
			}
			assertThat(Seen.TOPICS).contains("FactoryInterceptor " + app.name("plain"),
					"ListenerInterceptor " + app.name("byrecord"));
			assertThat(Seen.TOPICS).doesNotContain("ListenerInterceptor " + app.name("plain"),
					"FactoryInterceptor " + app.name("byrecord"));
			assertThat(interceptors(app, "plain")).isTrue();
			assertThat(interceptors(app, "manual")).as("of a container that claims nothing ahead").isFalse();
		}
	}

	private static boolean interceptors(BatchApp app, String listener) {
		return app.container(listener)
			.getContainerProperties()
			.getKafkaConsumerProperties()
			.containsKey("interceptor.classes");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Autowired
		private KafkaListenerEndpointRegistry registry;

		@Idempotent(scope = "${prefix}-plain")
		@KafkaListener(id = "${prefix}-plain", topics = "${prefix}-plain")
		void plain(ConsumerRecord<String, String> record) {
			boolean first = !this.handled.contains(record.value());
			this.handled.add(record.value());
			MessageListenerContainer container = this.registry.getListenerContainer(record.topic());
			switch (record.value()) {
				case "fail", "fail2" -> {
					if (first) {
						throw new IllegalStateException("first attempt");
					}
				}
				case "pause" -> container.pause();
				case "stop" -> {
					container.stop(() -> {
					});
				}
				default -> {
				}
			}
		}

		@Idempotent(scope = "${prefix}-bypayload", key = "#payload")
		@KafkaListener(id = "${prefix}-bypayload", topics = "${prefix}-bypayload")
		void byPayload(String value) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-byrecord", key = "#record.value()")
		@KafkaListener(id = "${prefix}-byrecord", topics = "${prefix}-byrecord",
				properties = "interceptor.classes=dev.idempotency.listener.ClaimAheadListenerTests$ListenerInterceptor")
		void byRecord(String value) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-coordinates")
		@KafkaListener(id = "${prefix}-coordinates", topics = "${prefix}-coordinates")
		void coordinates(String value) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-byargument", key = "#id")
		@KafkaListener(id = "${prefix}-byargument", topics = "${prefix}-byargument")
		void byArgument(String value, @Header("Idempotency-Key") String id) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-manual")
		@KafkaListener(id = "${prefix}-manual", topics = "${prefix}-manual", containerFactory = "manual")
		void manual(String value, Acknowledgment acknowledgment) {
			this.handled.add(value);
			acknowledgment.acknowledge();
		}

		@Idempotent(scope = "${prefix}-filtered")
		@KafkaListener(id = "${prefix}-filtered", topics = "${prefix}-filtered", containerFactory = "filtering")
		void filtered(String value) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-intercepted")
		@KafkaListener(id = "${prefix}-intercepted", topics = "${prefix}-intercepted",
				containerFactory = "intercepting")
		void intercepted(String value) {
			this.handled.add(value);
		}

		@Idempotent(scope = "${prefix}-conditional", condition = "#payload != 'x'")
		@KafkaListener(id = "${prefix}-conditional", topics = "${prefix}-conditional")
		void conditional(String value) {
			this.handled.add(value);
		}

		@Bean
		static DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler(new FixedBackOff(0, 3));
		}

		@Bean
		Handlers handlers() {
			return new Handlers(this.handled);
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> manual(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
			factory.getContainerProperties().setAckMode(AckMode.MANUAL);
			return factory;
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> filtering(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
			factory.setRecordFilterStrategy((record) -> "x".equals(record.value()));
			return factory;
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> intercepting(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(configurer, consumers);
			factory.setRecordInterceptor((record, consumer) -> switch ((String) record.value()) {
				case "x" -> null;
				case "change" ->
					record(new TopicPartition(record.topic(), record.partition()), record.offset(), "changed");
				default -> record;
			});
			return factory;
		}

		private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers);
			return factory;
		}

	}

	@KafkaListener(id = "${prefix}-handlers", topics = "${prefix}-handlers")
	static class Handlers {

		private final Queue<String> handled;

		Handlers(Queue<String> handled) {
			this.handled = handled;
		}

		@Idempotent
		@KafkaHandler
		void text(String value) {
			this.handled.add(value);
		}

	}

	/**
	 * Notes the topics of the records that it has seen.
	 */
	public static class Seen implements ConsumerInterceptor<Object, Object> {

		private static final Collection<String> TOPICS = new ConcurrentLinkedQueue<>();

		@Override
		public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
			records.forEach((record) -> TOPICS.add(getClass().getSimpleName() + " " + record.topic()));
			return records;
		}

		@Override
		public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
		}

		@Override
		public void close() {
		}

		@Override
		public void configure(Map<String, ?> configuration) {
		}

	}

	/**
	 * The interceptor of the consumer factory.
	 */
	public static final class FactoryInterceptor extends Seen {

	}

	/**
	 * The interceptor of one listener, which replaces that of the factory.
	 */
	public static final class ListenerInterceptor extends Seen {

	}

}
