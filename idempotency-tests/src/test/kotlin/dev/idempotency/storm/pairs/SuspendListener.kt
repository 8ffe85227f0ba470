/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs

import java.util.function.BiFunction

import dev.idempotency.Idempotent
import dev.idempotency.IdempotentExecution
import dev.idempotency.MissingKeyPolicy
import kotlinx.coroutines.delay
import org.apache.kafka.clients.consumer.ConsumerRecord
import org.springframework.kafka.annotation.KafkaListener
import org.springframework.messaging.handler.annotation.SendTo

/**
 * The suspending listener of a trial without replies.
 */
open class SuspendListener(
	private val work: BiFunction<ConsumerRecord<String, String>, IdempotentExecution?, String?>) {

	@Idempotent(key = "\${pair.key}", version = "\${pair.version}", fingerprint = "\${pair.fingerprint}")
	@KafkaListener(id = "\${pair.topic}", topics = ["\${pair.topic}"])
	open suspend fun handle(record: ConsumerRecord<String, String>) {
		val execution = IdempotentExecution.ifCurrent()
		delay(5)
		work.apply(record, execution)
	}

}

/**
 * The suspending listener of a trial with replies.
 */
open class SuspendReplyListener(
	private val work: BiFunction<ConsumerRecord<String, String>, IdempotentExecution?, String?>) {

	@Idempotent(key = "\${pair.key}", version = "\${pair.version}", fingerprint = "\${pair.fingerprint}")
	@SendTo("\${pair.topic}-replies")
	@KafkaListener(id = "\${pair.topic}", topics = ["\${pair.topic}"])
	open suspend fun handle(record: ConsumerRecord<String, String>): String? {
		val execution = IdempotentExecution.ifCurrent()
		delay(5)
		return work.apply(record, execution)
	}

}

/**
 * A suspending listener that is refused.
 */
open class SuspendOffsetListener {

	@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
	@KafkaListener(id = "\${pair.topic}", topics = ["\${pair.topic}"])
	open suspend fun handle(record: ConsumerRecord<String, String>) {
		check(record.value() == null) { "It is called" }
	}

}
