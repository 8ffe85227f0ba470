/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.stereotype.Component;

import dev.idempotency.Idempotent;

/**
 * A listener with a single thread.
 */
@Component
class SingleListener {

	@KafkaListener(topics = "single", groupId = "single", concurrency = "1")
	@Idempotent
	void handle(PaymentCommand command) {
	}

}
