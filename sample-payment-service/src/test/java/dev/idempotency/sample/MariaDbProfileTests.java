/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.http.HttpStatus;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.JsonNode;

import dev.idempotency.sample.ledger.PaymentCharged;
import dev.idempotency.sample.ledger.PaymentChargedTopic;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the service with the profile {@code mariadb}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@ActiveProfiles("mariadb")
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("mariadb")
class MariaDbProfileTests {

	@LocalServerPort
	private int port;

	@Autowired
	private KafkaTemplate<String, PaymentCharged> kafka;

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		assertThat(service.stores())
			.hasToString("[{\"name\":\"jdbc\",\"type\":\"jdbc\",\"product\":\"MariaDB\",\"transactional\":true}]");
		// The handler of one payment runs twice, and its first charge is rolled back.
		service.crash();
		service.order(200, 0.5);
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/protected/suppressed")).isGreaterThanOrEqualTo(100);
		assertThat(service.increase(after, "/gateway/calls")).isGreaterThanOrEqualTo(200);
		assertThat(service.increase(after, "/gateway/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(service.increase(after, "/statements/applied")).isEqualTo(200);
		assertThat(service.increase(after, "/statements/outOfOrder")).isZero();
		assertThat(service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(service.increaseOfAmount(after, "/statements/amount"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		JsonNode differences = service.reconciliation();
		assertThat(differences.at("/missing").longValue()).isZero();
		assertThat(differences.at("/doubled").longValue()).isZero();
	}

	@Test
	void gatewayChargesARepeatedCallOnce() {
		PaymentService service = new PaymentService(this.port);
		RestClient gateway = RestClient.create("http://localhost:" + this.port);
		for (HttpStatus expected : List.of(HttpStatus.CREATED, HttpStatus.OK)) {
			assertThat(gateway.post()
				.uri("/gateway/charges")
				.header("Idempotency-Key", "repeated")
				.body(Map.of("account", "ACC-01", "amount", 1))
				.retrieve()
				.toBodilessEntity()
				.getStatusCode()).isEqualTo(expected);
		}
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/gateway/calls")).isEqualTo(2);
		assertThat(service.increase(after, "/gateway/charges")).isOne();
	}

	@Test
	void eventThatArrivesAfterALaterOneIsCounted() {
		PaymentService service = new PaymentService(this.port);
		// Each statement begins with entry 0.
		UUID payment = UUID.randomUUID();
		ProducerRecord<String, PaymentCharged> message = new ProducerRecord<>(PaymentChargedTopic.NAME, "ACC-01",
				new PaymentCharged(payment, "ACC-01", BigDecimal.ZERO, BigDecimal.ZERO, -1));
		message.headers().add("Idempotency-Key", payment.toString().getBytes(StandardCharsets.UTF_8));
		this.kafka.send(message).join();
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/statements/outOfOrder")).isOne();
	}

}
