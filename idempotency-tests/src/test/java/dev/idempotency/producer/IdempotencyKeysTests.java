/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotencyKeys}.
 */
class IdempotencyKeysTests {

	private final ProducerRecord<String, String> record = new ProducerRecord<>("payments", "value");

	@Test
	void recordGetsATimeOrderedUuid() {
		assertThat(IdempotencyKeys.stamp(this.record)).isSameAs(this.record);
		assertThat(UUID.fromString(SentKeys.of(this.record.headers())).version()).isEqualTo(7);
	}

	@Test
	void newKeysIncrease() {
		assertThat(IdempotencyKeys.newKey()).isLessThan(IdempotencyKeys.newKey());
	}

	@Test
	void existingKeyIsKept() {
		this.record.headers().add(IdempotencyKeys.HEADER, "mine".getBytes(StandardCharsets.UTF_8));
		IdempotencyKeys.stamp(this.record);
		assertThat(SentKeys.of(this.record.headers())).isEqualTo("mine");
	}

	@Test
	void secondStampChangesNothing() {
		String key = SentKeys.of(IdempotencyKeys.stamp(this.record).headers());
		assertThat(SentKeys.of(IdempotencyKeys.stamp(this.record).headers())).isEqualTo(key);
	}

	@Test
	void headerWithoutValueIsReplaced() {
		this.record.headers().add(IdempotencyKeys.HEADER, null);
		IdempotencyKeys.stamp(this.record);
		assertThat(SentKeys.of(this.record.headers())).hasSize(36);
	}

	@Test
	void givenHeaderIsUsed() {
		IdempotencyKeys.stamp(this.record, "message-id");
		assertThat(this.record.headers().lastHeader("message-id")).isNotNull();
		assertThat(this.record.headers().lastHeader(IdempotencyKeys.HEADER)).isNull();
	}

	@Test
	void recordWithReadOnlyHeadersAndAKeyIsUnchanged() {
		IdempotencyKeys.stamp(this.record);
		((RecordHeaders) this.record.headers()).setReadOnly();
		assertThat(IdempotencyKeys.stamp(this.record)).isSameAs(this.record);
	}

	@Test
	void recordThatWasSentKeepsItsKeyAndCannotBeStampedLater() {
		String topic = Servers.newTopic("stamped", 1);
		ProducerRecord<String, String> stamped = IdempotencyKeys.stamp(new ProducerRecord<>(topic, "with"));
		Kafka.send(stamped);
		Kafka.send(IdempotencyKeys.stamp(stamped));
		assertThat(SentKeys.on(topic)).hasSize(2).containsOnly(SentKeys.of(stamped.headers()));
		ProducerRecord<String, String> late = new ProducerRecord<>(topic, "without");
		Kafka.send(late);
		assertThatIllegalStateException().isThrownBy(() -> IdempotencyKeys.stamp(late))
			.withMessage("A record for the topic '" + topic + "' has no header 'Idempotency-Key' and cannot be "
					+ "stamped because it has been sent already. Stamp a record before it is sent for the first time.");
	}

	@Test
	void copyOfAStampedRecordKeepsItsKey() throws Exception {
		String topic = Servers.newTopic("copied", 1);
		ProducerRecord<String, Object> stamped = IdempotencyKeys.stamp(new ProducerRecord<>(topic, Map.of("id", 7)));
		try (Producer<String, Object> producer = new KafkaProducer<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()), new StringSerializer(),
				new JacksonJsonSerializer<>())) {
			producer.send(stamped).get();
			assertThatIllegalStateException().isThrownBy(() -> producer.send(stamped));
			producer.send(new ProducerRecord<>(topic, null, null, null, stamped.value(), stamped.headers())).get();
		}
		assertThat(SentKeys.on(topic)).hasSize(2).containsOnly(SentKeys.of(stamped.headers()));
	}

	@Test
	void missingArgumentsAreRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> IdempotencyKeys.stamp(null))
			.withMessage("'record' must not be null");
		assertThatIllegalArgumentException().isThrownBy(() -> IdempotencyKeys.stamp(this.record, " "))
			.withMessage("'header' must not be blank");
	}

}
