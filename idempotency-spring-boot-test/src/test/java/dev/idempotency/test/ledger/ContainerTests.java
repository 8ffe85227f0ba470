/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.jdbc.core.JdbcTemplate;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.postgresql.PostgreSQLContainer;

import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.IdempotencyTest;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A test with servers in containers. The page {@code docs/testing.md} shows it.
 */
@IdempotencyTest
@Testcontainers(disabledWithoutDocker = true)
class ContainerTests {

	@Container
	@ServiceConnection
	static KafkaContainer kafka = new KafkaContainer("apache/kafka-native:4.1.0");

	@Container
	@ServiceConnection
	static PostgreSQLContainer postgres = new PostgreSQLContainer("postgres:17-alpine");

	@Container
	@ServiceConnection(name = "redis")
	static GenericContainer<?> redis = new GenericContainer<>("redis:8-alpine").withExposedPorts(6379);

	@Autowired
	DuplicateDeliveries duplicates;

	@Autowired
	JdbcTemplate jdbc;

	// The page has one listener and needs no import for this.
	@org.springframework.test.context.bean.override.mockito.MockitoBean
	CardGateway gateway;

	@Test
	void paymentIsChargedOnceWhenItIsSentAgain() {
		PaymentCommand payment = new PaymentCommand(UUID.randomUUID().toString(), "alice", 7);
		this.duplicates.of("payments", payment.paymentId(), payment).sendTwice();
		assertThat(this.jdbc.queryForObject("SELECT balance FROM account WHERE id = 'alice'", Integer.class))
			.isEqualTo(93);
	}

}
