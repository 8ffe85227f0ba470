/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for errors in interceptors and partitioners of the application.
 */
class RelayErrorTests {

	private final String topic = Servers.newTopic("errors", 1);

	private OutboxApp start(Class<?> interceptor) {
		return OutboxApp.start((settings) -> settings
			.with("spring.kafka.producer.properties.interceptor.classes", interceptor.getName())
			.with("idempotency.outbox.send-timeout", "2s")
			.with("idempotency.outbox.max-back-off", "1s")
			.with("idempotency.outbox.max-attempts", 2));
	}

	@Test
	void producerWhoseThreadHasDiedIsReplaced() {
		try (OutboxApp app = start(KillsThread.class)) {
			app.send(this.topic, "a", "first");
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			app.send(this.topic, "a", "second");
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			assertThat(KillsThread.KILLED).contains(this.topic);
			assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).endsWith("first", "second");
		}
	}

	@Test
	void messageWhosePartitionerThrowsAnErrorIsADeadLetterAndOthersArePublishedOnce() {
		try (OutboxApp app = start(LacksClass.class)) {
			app.inTransaction(() -> {
				app.outbox().send(this.topic, "a", "good");
				app.outbox().send(this.topic, "b", "bad");
				app.outbox().send(this.topic, "c", "good");
			});
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().deadLetters()).isOne());
			assertThat(app.store().status().pending()).isZero();
			assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::key).containsExactlyInAnyOrder("a", "c");
		}
	}

	/**
	 * Kills the thread of a producer once for each topic.
	 */
	public static class KillsThread extends PlainInterceptor {

		private static final Set<String> KILLED = ConcurrentHashMap.newKeySet();

		@Override
		public void onAcknowledgement(RecordMetadata metadata, Exception error) {
			if (KILLED.add(metadata.topic())) {
				throw new OutOfMemoryError("As the network thread tells it");
			}
		}

	}

	/**
	 * Throws an error, as a partitioner may.
	 */
	public static class LacksClass extends PlainInterceptor {

		@Override
		public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
			if (new String((byte[]) record.value(), StandardCharsets.UTF_8).equals("bad")) {
				throw new NoClassDefFoundError("Missing");
			}
			return record;
		}

	}

}
