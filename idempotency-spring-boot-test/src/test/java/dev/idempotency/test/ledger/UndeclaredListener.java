/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.kafka.annotation.KafkaListener;

/**
 * A listener of which nobody has said whether it needs protection.
 */
public abstract class UndeclaredListener {

	@KafkaListener(topics = "undeclared", groupId = "group")
	void listen(String value) {
	}

	/**
	 * A method with two containers.
	 */
	public abstract static class Repeated {

		@KafkaListener(topics = "first", groupId = "group")
		@KafkaListener(topics = "second", groupId = "group")
		void listen(String value) {
		}

	}

}
