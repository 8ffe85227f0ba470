/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs

import java.util.Queue
import java.util.concurrent.ConcurrentLinkedQueue

import dev.idempotency.Idempotent
import org.springframework.kafka.annotation.KafkaListener

/**
 * The example of docs/payload-formats.md, which PayloadExamplesTests runs.
 */
open class KotlinPayments {

	open val handled: Queue<String> = ConcurrentLinkedQueue()

	@Idempotent(key = "#payload.paymentId", fingerprint = "#payload")
	@KafkaListener(topics = ["kotlin-payments"], groupId = "formats", properties = [
		"value.deserializer=org.springframework.kafka.support.serializer.JacksonJsonDeserializer",
		"spring.json.value.default.type=dev.idempotency.docs.KotlinPayment"])
	open fun pay(payment: KotlinPayment) {
		handled.add(payment.paymentId)
	}

}

data class KotlinPayment(val paymentId: String, val amount: Int)
