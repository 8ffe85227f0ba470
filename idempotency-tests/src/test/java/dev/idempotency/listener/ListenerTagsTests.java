/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.micrometer.KafkaRecordReceiverContext;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the tags of Spring Kafka's observations.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerTagsTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Observations.class }, "leased",
				"spring.kafka.listener.observation-enabled=true");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "future", "mono" })
	void observationOfTheRecordIsTagged(String name) {
		this.app.complete(name, "duplicate", null);
		this.app.send(name, "- a duplicate fails");
		this.app.start(name);
		this.app.awaitDone(name);
		Observations observations = this.app.listeners(Observations.class);
		await().atMost(Duration.ofSeconds(10)).untilAsserted(() -> {
			assertThat(observations.of(this.app.name(name), "a")).containsExactly("processed 1 " + this.app.name(name));
			assertThat(observations.of(this.app.name(name), "duplicate"))
				.containsExactly("duplicate null " + this.app.name(name));
			assertThat(observations.of(this.app.name(name), "fails")).containsExactly("failed 1 " + this.app.name(name),
					"processed 2 " + this.app.name(name));
			assertThat(observations.of(this.app.name(name), "-")).containsExactly("unprotected null none");
		});
		assertThat(observations.others).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "bare" })
	void metersOfListenersWithAndWithoutTheLibraryAreKept(String name) {
		this.app.send(name + "-meter", "a");
		this.app.start(name + "-meter");
		this.app.awaitDone(name + "-meter");
		await().atMost(Duration.ofSeconds(10))
			.untilAsserted(() -> assertThat(this.app.listeners(Observations.class).prometheus.scrape().lines())
				.anyMatch((line) -> line.startsWith("spring_kafka_listener_seconds_count{")
						&& line.contains(this.app.name(name + "-meter") + "-0\"")));
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> failed = new ConcurrentLinkedQueue<>();

		@Idempotent(scope = "${prefix}-record", key = "#record.value() == '-' ? null : #record.value()",
				onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			failOnce("record", value);
		}

		@Idempotent(scope = "${prefix}-future", key = "#record.value() == '-' ? null : #record.value()",
				onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-future", topics = "${prefix}-future")
		CompletableFuture<Void> future(String value) {
			return CompletableFuture.runAsync(() -> failOnce("future", value),
					CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));
		}

		@Idempotent(scope = "${prefix}-mono", key = "#record.value() == '-' ? null : #record.value()",
				onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-mono", topics = "${prefix}-mono")
		Mono<Void> mono(String value) {
			return Mono.delay(Duration.ofMillis(20)).doOnNext((tick) -> failOnce("mono", value)).then();
		}

		@Idempotent(scope = "${prefix}-record-meter")
		@KafkaListener(id = "${prefix}-record-meter", topics = "${prefix}-record-meter")
		void recordMeter(String value) {
		}

		@KafkaListener(id = "${prefix}-bare-meter", topics = "${prefix}-bare-meter")
		void bareMeter(String value) {
		}

		private void failOnce(String name, String value) {
			if (value.equals("fails") && !this.failed.contains(name)) {
				this.failed.add(name);
				throw new IllegalStateException("fails");
			}
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Observations {

		private final ObservationRegistry registry = ObservationRegistry.create();

		private final PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

		private final Queue<List<String>> stopped = new ConcurrentLinkedQueue<>();

		private final Queue<String> others = new ConcurrentLinkedQueue<>();

		@Bean
		static ObservationRegistry observationRegistry(Observations observations) {
			observations.registry.observationConfig()
				.observationHandler(new Recorder(observations.stopped, observations.others))
				.observationHandler(new DefaultMeterObservationHandler(observations.prometheus));
			return observations.registry;
		}

		List<String> of(String topic, String value) {
			return this.stopped.stream()
				.filter((event) -> event.get(0).equals(topic) && event.get(1).equals(value))
				.map((event) -> event.get(2))
				.toList();
		}

	}

	/**
	 * Not a bean, because Boot would register it a second time.
	 *
	 * @param stopped topic, value and tags
	 * @param others observations that do not belong to a delivery
	 */
	record Recorder(Queue<List<String>> stopped,
			Queue<String> others) implements ObservationHandler<Observation.Context> {

		@Override
		public boolean supportsContext(Observation.Context context) {
			return true;
		}

		@Override
		public void onStop(Observation.Context context) {
			if (!(context instanceof KafkaRecordReceiverContext delivery)) {
				this.others.add(context.toString());
				return;
			}
			Map<String, String> tags = delivery.getAllKeyValues()
				.stream()
				.collect(Collectors.toMap(KeyValue::getKey, KeyValue::getValue));
			// Without a scope, the tag has a value with Spring Boot 4.0 only.
			String scope = tags.getOrDefault("idempotency.scope", "none");
			this.stopped.add(List.of(delivery.getRecord().topic(), String.valueOf(delivery.getRecord().value()),
					tags.get("idempotency.outcome") + " " + tags.get("idempotency.attempt") + " " + scope));
		}

	}

}
