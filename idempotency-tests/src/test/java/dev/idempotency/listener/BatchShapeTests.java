/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.BatchApp.Batches;
import dev.idempotency.store.IdempotencyRecord.State;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ProtectedBatchListener}: a method receives only the records that are
 * due, in all its arguments, whatever their types.
 */
@Tag("promise-2")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BatchShapeTests {

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	static List<List<String>> cases() {
		List<List<String>> cases = new ArrayList<>();
		for (String mode : List.of("leased", "transactional", "redis")) {
			for (String shape : List.of("payloads", "records", "messages", "poll", "keyed")) {
				cases.add(List.of(mode, shape));
			}
		}
		return cases;
	}

	@BeforeAll
	void start() {
		for (String mode : List.of("leased", "transactional", "redis")) {
			this.apps.put(mode, new BatchApp(Listeners.class, mode));
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	@ParameterizedTest
	@MethodSource("cases")
	void methodReceivesTheRecordsThatAreDue(List<String> modeAndShape) {
		BatchApp app = this.apps.get(modeAndShape.get(0));
		String shape = modeAndShape.get(1);
		app.complete(shape, "b", null);
		app.complete(shape, "d", null);
		app.send(shape, "a b c c d e");
		app.start(shape);
		app.awaitDone(shape);
		Listeners listeners = app.listeners(Listeners.class);
		assertThat(listeners.batches.get(shape).list()).containsExactly("a@0 c@2 e@5");
		assertThat(app.record(shape, "e").state()).isEqualTo(State.COMPLETED);
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		final Map<String, Batches> batches = new ConcurrentHashMap<>();

		@Idempotent(scope = "${prefix}-payloads")
		@KafkaListener(id = "${prefix}-payloads", topics = "${prefix}-payloads", batch = "true")
		void payloads(@Payload List<String> values, @Header(KafkaHeaders.OFFSET) List<Long> offsets,
				@Header(KafkaHeaders.GROUP_ID) String group) {
			add("payloads", values, offsets);
		}

		@Idempotent(scope = "${prefix}-records")
		@KafkaListener(id = "${prefix}-records", topics = "${prefix}-records", batch = "true")
		void records(List<ConsumerRecord<String, String>> records) {
			add("records", records.stream().map(ConsumerRecord::value).toList(),
					records.stream().map(ConsumerRecord::offset).toList());
		}

		@Idempotent(scope = "${prefix}-messages")
		@KafkaListener(id = "${prefix}-messages", topics = "${prefix}-messages", batch = "true")
		void messages(List<Message<String>> messages) {
			add("messages", messages.stream().map(Message::getPayload).toList(),
					messages.stream().map((one) -> (Long) one.getHeaders().get(KafkaHeaders.OFFSET)).toList());
		}

		@Idempotent(scope = "${prefix}-poll")
		@KafkaListener(id = "${prefix}-poll", topics = "${prefix}-poll", batch = "true")
		void poll(ConsumerRecords<String, String> records, Consumer<?, ?> consumer) {
			List<ConsumerRecord<String, String>> all = new ArrayList<>();
			records.forEach(all::add);
			add("poll", all.stream().map(ConsumerRecord::value).toList(),
					all.stream().map(ConsumerRecord::offset).toList());
		}

		@Idempotent(scope = "${prefix}-keyed", key = "#values.toLowerCase()", condition = "#offsets < 100",
				fingerprint = "#payload")
		@KafkaListener(id = "${prefix}-keyed", topics = "${prefix}-keyed", batch = "true")
		void keyed(List<String> values, @Header(KafkaHeaders.OFFSET) List<Long> offsets,
				@Header(KafkaHeaders.BATCH_CONVERTED_HEADERS) List<Map<String, Object>> headers) {
			assertThat(headers.stream().map((one) -> text(one.get("Idempotency-Key"))).toList()).isEqualTo(values);
			add("keyed", values, offsets);
		}

		private static String text(Object header) {
			return new String((byte[]) header, StandardCharsets.UTF_8);
		}

		private void add(String shape, List<String> values, List<Long> offsets) {
			List<String> seen = new ArrayList<>();
			for (int i = 0; i < values.size(); i++) {
				seen.add(values.get(i) + "@" + offsets.get(i));
			}
			this.batches.computeIfAbsent(shape, (name) -> new Batches()).add(seen);
		}

	}

}
