/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.testsupport.Kafka;

/**
 * A record of a trial.
 *
 * @param uid identifies the record
 * @param partition the partition
 * @param id the business identity, which copies share
 * @param kind what happens to it
 * @param content the content
 * @param version the version
 */
record Message(String uid, int partition, String id, Kind kind, String content, long version) {

	static final String UID = "uid";

	static final String VERSION = "version";

	static final String TENANT = "tenant";

	static final String DROP = "drop";

	static final String RAW_KEY = "raw-key";

	private static final String SEPARATOR = ":";

	/**
	 * Read a record.
	 * @param record the record
	 * @return its message
	 */
	static Message of(ConsumerRecord<?, ?> record) {
		String[] parts = record.value().toString().split(SEPARATOR);
		String version = text(record, VERSION);
		return new Message(String.valueOf(text(record, UID)), record.partition(), parts[1], Kind.valueOf(parts[0]),
				parts[2], (version != null) ? Long.parseLong(version) : 0);
	}

	static @Nullable String text(ConsumerRecord<?, ?> record, String header) {
		return (record.headers().lastHeader(header) != null)
				? new String(record.headers().lastHeader(header).value(), StandardCharsets.UTF_8) : null;
	}

	Message copy(String otherUid, int otherPartition) {
		return new Message(otherUid, otherPartition, this.id, this.kind, this.content, this.version);
	}

	/**
	 * Return the identity of the operation that the record asks for.
	 * @param combination the combination
	 * @return the identity; copies without keys are different operations
	 */
	String operation(Combination combination) {
		return (!combination.keyed() || this.kind == Kind.KEYLESS) ? this.uid : this.id;
	}

	/**
	 * Return the idempotency key.
	 * @param combination the combination
	 * @return the key
	 */
	String key(Combination combination) {
		return combination.is(Factor.KEY, "composite") ? this.id + "/t1" : this.id;
	}

	ProducerRecord<String, String> record(String topic, Combination combination) {
		boolean keyless = this.kind == Kind.KEYLESS;
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, this.partition, keyless ? null : this.id,
				this.kind + SEPARATOR + this.id + SEPARATOR + this.content);
		boolean changed = combination.is(Factor.INTERCEPTION, "consumer interceptor changes headers");
		header(record, UID, this.uid);
		header(record, KafkaHeaders.CORRELATION_ID, this.uid);
		if (combination.versions()) {
			header(record, VERSION, String.valueOf(this.version));
		}
		if (combination.is(Factor.KEY, "header") && !keyless) {
			header(record, changed ? RAW_KEY : Kafka.KEY_HEADER, this.id);
		}
		if (!changed) {
			header(record, TENANT, "t1");
		}
		if (this.kind == Kind.DROPPED) {
			header(record, DROP, "true");
		}
		return record;
	}

	private static void header(ProducerRecord<String, String> record, String name, String value) {
		record.headers().add(name, value.getBytes(StandardCharsets.UTF_8));
	}

	/**
	 * What happens to a record.
	 */
	enum Kind {

		/**
		 * Its method succeeds.
		 */
		NORMAL,

		/**
		 * Its method fails once.
		 */
		ONCE,

		/**
		 * Its method always fails; twice, if nothing recovers records.
		 */
		ALWAYS,

		/**
		 * Its method declines it.
		 */
		DECLINED,

		/**
		 * It has the key of another record and other content.
		 */
		REUSED,

		/**
		 * It has no key.
		 */
		KEYLESS,

		/**
		 * It is dropped before the method.
		 */
		DROPPED,

		/**
		 * Its key has completed in the store from which the keys move.
		 */
		MOVED

	}

}
