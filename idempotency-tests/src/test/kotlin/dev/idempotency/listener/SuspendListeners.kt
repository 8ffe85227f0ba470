/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener

import java.util.Queue
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue

import dev.idempotency.Idempotent
import kotlinx.coroutines.delay
import kotlinx.coroutines.future.await
import org.apache.kafka.clients.consumer.ConsumerRecord
import org.springframework.kafka.annotation.KafkaListener
import org.springframework.kafka.support.KafkaHeaders
import org.springframework.messaging.handler.annotation.Header
import org.springframework.messaging.handler.annotation.SendTo

/**
 * The listeners of [SuspendTests]. The scope of each is its name.
 */
open class SuspendListeners {

	private val runs = ConcurrentHashMap<String, Queue<String>>()

	private val pending = ConcurrentHashMap<String, CompletableFuture<String>>()

	open fun runs(name: String): Queue<String> = runs.computeIfAbsent(name) { ConcurrentLinkedQueue() }

	open fun signal(value: String): CompletableFuture<String> =
		pending.computeIfAbsent(value) { CompletableFuture() }

	@Idempotent(scope = "unit")
	@KafkaListener(topics = ["\${topic.unit}"], groupId = "\${topic.unit}")
	@KafkaListener(topics = ["\${topic.unit}-pending"], groupId = "\${topic.unit}-pending")
	open suspend fun unit(record: ConsumerRecord<String, String>) {
		runs("unit").add(record.value())
		if (record.value().startsWith("later")) {
			signal(record.value()).await()
		}
	}

	@Idempotent(scope = "delayed", key = "#id + '/' + #topic")
	@KafkaListener(topics = ["\${topic.delayed}"], groupId = "\${topic.delayed}")
	open suspend fun delayed(id: String, @Header(KafkaHeaders.RECEIVED_TOPIC) topic: String) {
		val thread = Thread.currentThread()
		delay(50)
		check(thread != Thread.currentThread()) { "It was not suspended" }
		runs("delayed").add(id)
	}

	@Idempotent(scope = "reply")
	@SendTo("\${topic.reply}-out")
	@KafkaListener(topics = ["\${topic.reply}"], groupId = "\${topic.reply}", containerFactory = "replyFactory")
	open suspend fun reply(record: ConsumerRecord<String, String>): SuspendReceipt {
		delay(10)
		runs("reply").add(record.value())
		return SuspendReceipt(record.value(), runs("reply").size)
	}

	@Idempotent(scope = "broken")
	@KafkaListener(topics = ["\${topic.broken}"], groupId = "\${topic.broken}")
	open suspend fun broken(record: ConsumerRecord<String, String>) {
		runs("broken").add(record.value())
		delay(10)
		throw IllegalStateException("fails " + record.value())
	}

}

data class SuspendReceipt(val id: String, val number: Int)

class FinalSuspendListener {

	@Idempotent
	@KafkaListener(topics = ["topic"], groupId = "group")
	suspend fun listen(value: String) {
		check(value.isNotEmpty())
	}

}

open class FinalSuspendFunction {

	@Idempotent
	@KafkaListener(topics = ["topic"], groupId = "group")
	suspend fun listen(value: String) {
		check(value.isNotEmpty())
	}

}
