/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.outbox.Outbox;

/**
 * One listener for each point of {@link CrashShape#RECORD}. Its first record stops there.
 */
class RecordCrashListeners {

	static final List<String> MESSAGE_KEYS = List.of("a", "b");

	private final CrashPoint crash;

	private final CrashEffects effects;

	private final Outbox outbox;

	RecordCrashListeners(CrashPoint crash, CrashEffects effects, Outbox outbox) {
		this.crash = crash;
		this.effects = effects;
		this.outbox = outbox;
	}

	@Idempotent
	@KafkaListener(topics = "${topic}-transactional-running", groupId = "${topic}-transactional-running")
	void transactionalRunning(String value) {
		effect("transactional-running", value);
		if (isFirst(value)) {
			this.crash.reach("transactional-running");
		}
	}

	@Idempotent
	@KafkaListener(topics = "${topic}-transactional-before-commit", groupId = "${topic}-transactional-before-commit")
	void transactionalBeforeCommit(String value) {
		effect("transactional-before-commit", value);
		if (isFirst(value)) {
			this.crash.reachBeforeCommit("transactional-before-commit");
		}
	}

	@Idempotent
	@KafkaListener(topics = "${topic}-transactional-after-commit", groupId = "${topic}-transactional-after-commit")
	void transactionalAfterCommit(String value) {
		effect("transactional-after-commit", value);
		if (isFirst(value)) {
			this.crash.reachAfterCommit("transactional-after-commit");
		}
	}

	@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
	@KafkaListener(topics = "${topic}-offset-before-commit", groupId = "${topic}-offset-before-commit")
	void offsetBeforeCommit(String value) {
		effect("offset-before-commit", value);
		if (isFirst(value)) {
			this.crash.reachBeforeCommit("offset-before-commit");
		}
	}

	@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
	@KafkaListener(topics = "${topic}-offset-after-commit", groupId = "${topic}-offset-after-commit")
	void offsetAfterCommit(String value) {
		effect("offset-after-commit", value);
		if (isFirst(value)) {
			this.crash.reachAfterCommit("offset-after-commit");
		}
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running")
	void leasedRunning(String value) {
		if (isFirst(value)) {
			this.crash.reach("leased-running");
		}
		effect("leased-running", value);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect")
	void leasedAfterEffect(String value) {
		effect("leased-after-effect", value);
		if (isFirst(value)) {
			this.crash.reach("leased-after-effect");
		}
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = CrashingApp.AFTER_COMPLETION)
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion")
	void leasedAfterCompletion(String value) {
		effect("leased-after-completion", value);
	}

	@Idempotent(scope = CrashingApp.OUTBOX)
	@KafkaListener(topics = "${topic}-outbox-published", groupId = "${topic}-outbox-published")
	void outboxPublished(ConsumerRecord<String, String> record) {
		effect("outbox-published", record.value());
		MESSAGE_KEYS.forEach((key) -> this.outbox.send(output(record.topic()), key, record.value()));
	}

	static String output(String topic) {
		return topic + "-output";
	}

	private static boolean isFirst(String value) {
		return value.equals("first");
	}

	private void effect(String name, String value) {
		this.effects.add(name, value, IdempotentExecution.current().fence());
	}

	/**
	 * Stops the relay when the broker has its first message, before that is recorded.
	 */
	public static class StuckRelay implements ProducerInterceptor<Object, Object> {

		@Override
		public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
			return record;
		}

		@Override
		public void onAcknowledgement(RecordMetadata metadata, Exception error) {
			new CrashPoint(CrashShape.RECORD, true).reach(CrashingApp.OUTBOX);
		}

		@Override
		public void close() {
		}

		@Override
		public void configure(Map<String, ?> configuration) {
		}

	}

}
