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
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for listeners without the annotation: all their calls are the same with and
 * without the library.
 */
@Order(3)
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TraceComparisonTests {

	private static final List<String> LANES = List.of("record", "proxied", "swallowed", "batch", "async", "reply",
			"class", "manual", "transaction", "retry");

	private static final List<String> ORDERED = LANES.stream()
		.filter((lane) -> !lane.equals("async") && !lane.equals("retry"))
		.flatMap((lane) -> Stream.of(lane, lane + "/client"))
		.toList();

	private static final List<String> VALUES = List.of("ok", "filtered", "heals", "dead", "last");

	private CompletableFuture<Map<String, List<String>>> without;

	private CompletableFuture<Map<String, List<String>>> disabled;

	private CompletableFuture<Map<String, List<String>>> with;

	private CompletableFuture<Map<String, List<String>>> annotated;

	private CompletableFuture<Map<String, List<String>>> decorated;

	@BeforeAll
	void start() {
		this.without = run("without", (app) -> app.without(Contexts.autoConfigurations()));
		this.disabled = run("disabled", (app) -> app.with("idempotency.enabled", false));
		this.with = run("with", (app) -> app);
		this.annotated = run("annotated", (app) -> app, Annotated.class);
		this.decorated = run("decorated", (app) -> app, Decoration.class);
	}

	@Test
	void libraryChangesNoCall() {
		assertSame(this.with);
	}

	@Test
	void disabledLibraryChangesNoCall() {
		assertSame(this.disabled);
	}

	@Test
	void idempotentListenersChangeNoCallOfTheirNeighbours() {
		assertSame(this.annotated);
	}

	// Without this test, the others could pass because nothing is traced.
	@Test
	void everyKindOfCallbackIsTraced() {
		assertThat(String.join("\n", this.without.join().values().stream().flatMap(Collection::stream).toList()))
			.contains("intercept P", "success P", "failure org", "after P", "intercept in batch", "success in batch",
					"failure in batch", "filter P", "attempt 2", "recover java", "swallow ", "commit null",
					"rollback null", "after rollback", "dead letter", "tombstone", "committed P",
					"ConsumerStartedEvent", "ContainerStoppedEvent", "TransactionInterceptor",
					"RecordMessagingMessageListenerAdapter");
	}

	@Test
	void decoratedErrorHandlerIsNoticed() {
		assertThat(this.decorated.join().get("record")).isNotEqualTo(this.without.join().get("record"));
		assertThat(this.decorated.join().get("container record"))
			.isNotEqualTo(this.without.join().get("container record"));
	}

	private void assertSame(CompletableFuture<Map<String, List<String>>> run) {
		Map<String, List<String>> expected = new TreeMap<>(this.without.join());
		Map<String, List<String>> actual = new TreeMap<>(run.join());
		actual.keySet().removeIf((lane) -> lane.contains("nnotated"));
		assertThat(actual.keySet()).isEqualTo(expected.keySet());
		assertThat(expected.entrySet().stream().flatMap((lane) -> difference(lane, actual.get(lane.getKey()))))
			.isEmpty();
	}

	// The complete traces would be unreadable.
	private static Stream<String> difference(Map.Entry<String, List<String>> expected, List<String> lane) {
		List<String> actual = lane.stream().filter((event) -> !event.contains("nnotated")).toList();
		for (int i = 0; i < Math.max(expected.getValue().size(), actual.size()); i++) {
			String left = (i < expected.getValue().size()) ? expected.getValue().get(i) : "nothing";
			String right = (i < actual.size()) ? actual.get(i) : "nothing";
			if (!left.equals(right)) {
				return Stream
					.of(expected.getKey() + " differs at " + i + ":\n" + left + "\nbut with the library\n" + right);
			}
		}
		return Stream.empty();
	}

	private static CompletableFuture<Map<String, List<String>>> run(String name, Settings settings,
			Class<?>... neighbours) {
		String prefix = Servers.unique(name);
		Trace trace = new Trace(prefix);
		LANES.forEach((lane) -> send(prefix + "-" + lane));
		Stream.of(neighbours).forEach((neighbour) -> {
			send(prefix + "-annotated");
			send(prefix + "-annotatedretry");
		});
		Class<?>[] sources = Stream
			.concat(Stream.of(TracedNeighbours.class, TracedListeners.class), Stream.of(neighbours))
			.toArray(Class<?>[]::new);
		TestApp app = settings.apply(TestApp.of(sources)
			.with("prefix", prefix)
			.with("spring.kafka.consumer.properties.interceptor.classes", TraceConsumerInterceptor.class.getName())
			.with("spring.kafka.consumer.properties.trace.prefix", prefix));
		return CompletableFuture.supplyAsync(() -> {
			try (ConfigurableApplicationContext context = app.run()) {
				new TracedWiring(context, trace).trace(LANES);
				await().atMost(Duration.ofMinutes(4)).untilAsserted(() -> assertDone(prefix, trace));
			}
			LANES.forEach((lane) -> Stream.of("", "-out", "-dead")
				.forEach((topic) -> written(trace, lane, prefix + "-" + lane + topic)));
			return comparable(trace);
			// The common pool may have one thread, and the async lane needs it.
		}, (task) -> new Thread(task, prefix).start());
	}

	private static void send(String topic) {
		Servers.addTopics(topic.endsWith("proxied") ? 2 : 1, topic, topic + "-out", topic + "-dead");
		for (String value : VALUES) {
			ProducerRecord<String, String> record = Kafka.record(topic, 0, "key of " + value, value);
			record.headers().add(KafkaHeaders.CORRELATION_ID, value.getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
		}
		if (topic.endsWith("class")) {
			Kafka.send(Kafka.record(topic, 0, null, null));
		}
	}

	private static void assertDone(String prefix, Trace trace) {
		for (String lane : LANES) {
			assertThat(Kafka.lag(prefix + "-" + lane, prefix + "-" + lane)).as(lane).isZero();
		}
		assertThat(trace.count("async", "after P-async/4")).isEqualTo(1);
		assertThat(trace.count("retry", "dead letter")).isOne();
		assertThat(trace.count("retry", "handled P-retry-retry/0=heals")).isOne();
	}

	// The topics of the lane, and the offset that its group has committed.
	private static void written(Trace trace, String lane, String topic) {
		for (ConsumerRecord<String, String> record : Kafka.read(topic)) {
			trace.add("written by " + lane,
					record.offset() + "=" + record.value() + " " + record.headers().toArray().length);
		}
		trace.add("written by " + lane, "end " + topic);
	}

	// With futures, retry topics and child containers, threads race: the calls are the
	// same, but their order differs.
	private static Map<String, List<String>> comparable(Trace trace) {
		Map<String, List<String>> lanes = trace.lanes();
		lanes.keySet().removeAll(List.of("async/client", "retry/client"));
		lanes.forEach((lane, events) -> {
			events.removeIf((event) -> lane.startsWith("events of ") && event.matches(".*(Paused|Resumed)Event"));
			if (!ORDERED.contains(lane)) {
				events.sort(null);
			}
		});
		// The number of early deliveries to a retry topic differs.
		lanes.computeIfPresent("retry",
				(lane, events) -> events.stream()
					.filter((event) -> !event.contains("KafkaBackoffException"))
					.distinct()
					.toList());
		return lanes;
	}

	@FunctionalInterface
	private interface Settings {

		TestApp apply(TestApp app);

	}

	static class Annotated {

		@Idempotent
		@KafkaListener(id = "annotated", topics = "${prefix}-annotated", groupId = "${prefix}-annotated")
		void annotated(String value) {
		}

		@Idempotent(mode = Mode.LEASED)
		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(id = "annotatedretry", topics = "${prefix}-annotatedretry", groupId = "${prefix}-annotatedretry")
		void annotatedRetry(String value) {
			throw new IllegalStateException("fails");
		}

		@DltHandler
		void dead(String value) {
		}

	}

	/**
	 * Decorates every container.
	 */
	static class Decoration {

		// A lifecycle that depends on the registry would start after it.
		@Bean
		SmartLifecycle decorate(BeanFactory beanFactory) {
			return new SmartLifecycle() {

				@Override
				public void start() {
					BlockedRecordHandling blockedRecords = beanFactory.getBean(BlockedRecordHandling.class);
					beanFactory.getBean(KafkaListenerEndpointRegistry.class)
						.getListenerContainers()
						.stream()
						.map((container) -> (AbstractMessageListenerContainer<?, ?>) container)
						.filter((container) -> container.getCommonErrorHandler() != null)
						.forEach((container) -> blockedRecords.install(container, (record) -> {
						}, new AsyncRetries()));
				}

				@Override
				public void stop() {
				}

				@Override
				public boolean isRunning() {
					return false;
				}

				@Override
				public int getPhase() {
					return Integer.MIN_VALUE;
				}

			};
		}

	}

}
