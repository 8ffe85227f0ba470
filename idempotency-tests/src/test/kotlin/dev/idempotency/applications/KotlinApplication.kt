/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications

import dev.idempotency.Idempotent
import org.springframework.jdbc.core.JdbcTemplate
import org.springframework.kafka.annotation.KafkaListener

/**
 * A listener in Kotlin.
 */
open class KotlinApplication(private val jdbc: JdbcTemplate) {

	@Idempotent(key = "#payload.id")
	@KafkaListener(topics = ["\${prefix}-kotlin"], groupId = "\${prefix}-kotlin")
	open fun book(booking: Booking) {
		jdbc.update("INSERT INTO effect (id, what) VALUES (?, ?)", booking.id, "booked ${booking.seat}")
	}

}

data class Booking(val id: String, val seat: String)
