/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.springframework.context.annotation.Bean;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the headers that describe the sender of a message: trace, MDC values, time.
 */
class OutboxContextTests {

	private static OutboxApp app;

	private final String topic = Servers.newTopic("context", 1);

	@BeforeAll
	static void start() {
		app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.mdc-keys", "tenant,request")
			.with("spring.kafka.template.observation-enabled", true), Tracing.class);
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	private ConsumerRecord<String, String> published(OutboxMessage message) {
		app.inTransaction(() -> app.outbox().send(message));
		Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.topic)).hasSize(1));
		return Kafka.read(this.topic).get(0);
	}

	private OutboxMessage.Builder message() {
		return OutboxMessage.to(this.topic).key("account-1").payload("x");
	}

	private static List<String> values(ConsumerRecord<?, ?> record, String name) {
		List<String> values = new ArrayList<>();
		for (Header header : record.headers().headers(name)) {
			values.add(new String(header.value(), StandardCharsets.UTF_8));
		}
		return values;
	}

	private static <T> T observed(Supplier<T> work) {
		Observation handling = Observation.start("handling", app.context().getBean(ObservationRegistry.class));
		try (Observation.Scope scope = handling.openScope()) {
			return work.get();
		}
		finally {
			handling.stop();
		}
	}

	@Test
	void publishedMessageHasOnlyTheTraceOfItsSender() {
		ConsumerRecord<String, String> record = observed(() -> published(message().build()));
		assertThat(values(record, "traceparent")).singleElement().asString().startsWith("00-trace-below-handling-");
		assertThat(values(record, "tracestate")).containsExactly("vendor=1");
	}

	@Test
	void traceHeaderOfTheMessageIsKept() {
		ConsumerRecord<String, String> record = observed(
				() -> published(message().header("traceparent", "00-mine").build()));
		assertThat(values(record, "traceparent")).containsExactly("00-mine");
		assertThat(values(record, "tracestate")).isEmpty();
	}

	@Test
	void messageOfASenderWithoutTraceHasNoTrace() {
		ConsumerRecord<String, String> record = published(message().build());
		assertThat(values(record, "traceparent")).isEmpty();
	}

	@Test
	void configuredMdcKeysBecomeHeaders() {
		MDC.put("tenant", "green");
		MDC.put("request", "r-1");
		MDC.put("secret", "other");
		try {
			ConsumerRecord<String, String> record = published(message().header("request", "own").build());
			assertThat(values(record, "tenant")).containsExactly("green");
			assertThat(values(record, "request")).containsExactly("own");
			assertThat(values(record, "secret")).isEmpty();
		}
		finally {
			MDC.clear();
		}
	}

	@Test
	void timeHeaderIsTheTimeOfSending() {
		Instant before = Instant.now().minusMillis(1);
		ConsumerRecord<String, String> record = published(message().build());
		assertThat(Instant.parse(values(record, OutboxRow.TIME_HEADER).get(0))).isBetween(before,
				Instant.ofEpochMilli(record.timestamp()));
	}

	@Test
	void timeHeaderOfTheMessageIsKept() {
		String time = "2026-11-22T10:00:00Z";
		ConsumerRecord<String, String> record = published(message().header(OutboxRow.TIME_HEADER, time).build());
		assertThat(values(record, OutboxRow.TIME_HEADER)).containsExactly(time);
	}

	/**
	 * Injects headers, as the handler of Micrometer Tracing does.
	 */
	static class Tracing {

		@Bean
		static ObservationHandler<SenderContext<Object>> tracing() {
			AtomicInteger spans = new AtomicInteger();
			return new ObservationHandler<>() {

				@Override
				public void onStart(SenderContext<Object> context) {
					assertThat(context.getKind()).isEqualTo(Kind.PRODUCER);
					String parent = (context.getParentObservation() != null)
							? context.getParentObservation().getContextView().getName() : "nothing";
					context.getSetter()
						.set(context.getCarrier(), "traceparent",
								"00-trace-below-" + parent + "-" + spans.incrementAndGet());
					context.getSetter().set(context.getCarrier(), "tracestate", "vendor=1");
				}

				@Override
				public boolean supportsContext(Observation.Context context) {
					return context instanceof SenderContext<?>;
				}

			};
		}

	}

}
