/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

import io.micrometer.tracing.Link;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.test.simple.SimpleSpan;
import io.micrometer.tracing.test.simple.SimpleTracer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationHandlerGroup;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the spans of batches, and for their links to the traces of the records.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchSpanTests {

	private static final String SPAN = "1111111111111111";

	private BatchApp app;

	private SimpleTracer tracer;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Tracing.class }, "leased",
				"spring.kafka.listener.observation-enabled=true", "spring.kafka.consumer.max-poll-records=500");
		this.tracer = this.app.bean(SimpleTracer.class);
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	private static String trace(int number) {
		return String.format("%032x", number);
	}

	private static String parent(int number) {
		return "00-" + trace(number) + "-" + SPAN + "-01";
	}

	private void run(String name, List<String> parents) throws Exception {
		run(name, parents, true);
	}

	private void run(String name, List<String> parents, boolean keys) throws Exception {
		Servers.addTopics(1, this.app.name(name));
		for (int i = 0; i < parents.size(); i++) {
			ProducerRecord<String, String> record = Kafka.record(this.app.name(name), 0, keys ? "key-" + i : null,
					"value-" + i);
			if (!parents.get(i).isEmpty()) {
				record.headers().add("traceparent", parents.get(i).getBytes());
			}
			Kafka.send(record);
		}
		this.app.start(name);
		this.app.awaitDone(name);
	}

	private List<SimpleSpan> spans(String name) {
		return this.tracer.getSpans()
			.stream()
			.filter((span) -> Objects.equals(span.getName(), "BatchSpanTests.Listeners." + name + " batch"))
			.toList();
	}

	private List<String> links(SimpleSpan span) {
		return span.getLinks().stream().map(Link::getTraceContext).map((context) -> {
			assertThat(context.spanId()).isEqualTo(SPAN);
			return context.traceId();
		}).toList();
	}

	@Test
	void spanOfABatchIsLinkedToTheTraceOfEachRecord() throws Exception {
		run("linked", List.of(parent(1), parent(2), "", parent(2), "no trace", parent(0), parent(3)));
		assertThat(spans("linked")).singleElement().satisfies((span) -> {
			assertThat(links(span)).containsExactly(trace(1), trace(2), trace(3));
			assertThat(span.getKind()).isEqualTo(Span.Kind.CONSUMER);
			assertThat(span.getTags()).containsEntry("messaging.batch.message_count", "7")
				.containsEntry("listener", "BatchSpanTests.Listeners.linked");
			assertThat(span.getError()).isNull();
			assertThat(this.app.listeners(Listeners.class).handling).containsEntry("linked", span.getSpanId());
		});
	}

	@Test
	void numberOfLinksIsBounded() throws Exception {
		run("many", IntStream.range(1, 200).mapToObj(BatchSpanTests::parent).toList());
		assertThat(spans("many")).singleElement()
			.satisfies((span) -> assertThat(links(span))
				.containsExactlyElementsOf(IntStream.rangeClosed(1, 128).mapToObj(BatchSpanTests::trace).toList()));
	}

	@Test
	void failedBatchHasASpanForEachDelivery() throws Exception {
		run("fails", List.of(parent(1), parent(2)));
		assertThat(spans("fails")).hasSize(2).allSatisfy((span) -> assertThat(links(span)).contains(trace(2)));
		assertThat(spans("fails").get(0).getError()).hasMessageContaining("fails");
		assertThat(spans("fails").get(1).getError()).isNull();
	}

	@Test
	void recordsOfABatchDoNotTagItsSpan() throws Exception {
		run("keyless", List.of(parent(1), parent(2)), false);
		assertThat(spans("keyless")).singleElement()
			.satisfies((span) -> assertThat(span.getTags()).doesNotContainKey("idempotency.outcome"));
	}

	@Test
	void containerWithoutObservationHasNoSpan() throws Exception {
		run("silent", List.of(parent(1)));
		assertThat(spans("silent")).isEmpty();
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Tracer tracer;

		private final Map<String, String> handling = new ConcurrentHashMap<>();

		Listeners(Tracer tracer) {
			this.tracer = tracer;
		}

		@Idempotent(scope = "${prefix}-linked")
		@KafkaListener(id = "${prefix}-linked", topics = "${prefix}-linked", batch = "true")
		void linked(List<String> values) {
			this.handling.put("linked", this.tracer.currentSpan().context().spanId());
		}

		@Idempotent(scope = "${prefix}-many")
		@KafkaListener(id = "${prefix}-many", topics = "${prefix}-many", batch = "true")
		void many(List<String> values) {
		}

		@Idempotent(scope = "${prefix}-fails")
		@KafkaListener(id = "${prefix}-fails", topics = "${prefix}-fails", batch = "true")
		void fails(List<String> values) {
			if (this.handling.put("fails", "") == null) {
				throw new IllegalStateException("fails");
			}
		}

		@Idempotent(scope = "${prefix}-keyless", onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-keyless", topics = "${prefix}-keyless", batch = "true")
		void keyless(List<String> values) {
		}

		@Idempotent(scope = "${prefix}-silent")
		@KafkaListener(id = "${prefix}-silent", topics = "${prefix}-silent", batch = "true")
		void silent(List<String> values) {
		}

	}

	/**
	 * What Spring Boot configures when it finds a tracer.
	 */
	@Configuration(proxyBeanMethods = false)
	static class Tracing {

		@Bean
		SimpleTracer tracer() {
			return new SimpleTracer();
		}

		@Bean
		ObservationHandlerGroup tracingHandlers() {
			return ObservationHandlerGroup.of(TracingObservationHandler.class);
		}

		@Bean
		@Order(Ordered.LOWEST_PRECEDENCE - 1000)
		DefaultTracingObservationHandler defaultTracingHandler(Tracer tracer) {
			return new DefaultTracingObservationHandler(tracer);
		}

		@Bean
		ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> ofBatches() {
			return (container) -> container.getContainerProperties()
				.setObservationEnabled(!String.valueOf(container.getListenerId()).endsWith("-silent"));
		}

	}

}
