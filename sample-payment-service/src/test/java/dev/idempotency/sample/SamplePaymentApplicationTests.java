/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.time.Duration;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.test.AutoConfigureIdempotencyTools;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the service with its embedded servers.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@AutoConfigureIdempotencyTools
class SamplePaymentApplicationTests {

	@LocalServerPort
	private int port;

	@Autowired
	private ApplicationContext context;

	@Autowired
	private IdempotencyStore store;

	@Autowired
	private JdbcClient jdbc;

	private PaymentService service;

	@BeforeEach
	void readFigures() {
		this.service = new PaymentService(this.port);
	}

	@Test
	void redisIsNotUsedByDefault() {
		assertThat(this.context.getBeanNamesForType(RedisConnectionFactory.class)).isEmpty();
		assertThat(this.service.stores())
			.hasToString("[{\"name\":\"jdbc\",\"type\":\"jdbc\",\"product\":\"PostgreSQL\",\"transactional\":true}]");
	}

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		this.service.order(200, 0.5);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/paymentsRequested")).isEqualTo(200);
		assertThat(this.service.increase(after, "/messagesSent")).isEqualTo(300);
		assertThat(this.service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(this.service.increase(after, "/protected/suppressed")).isGreaterThanOrEqualTo(100);
		assertThat(this.service.increase(after, "/gateway/calls")).isGreaterThanOrEqualTo(200);
		assertThat(this.service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(this.service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(this.service.increaseOfAmount(after, "/amountRequested"));
		assertThat(this.service.increaseOfAmount(after, "/unprotected/amountCharged"))
			.isGreaterThan(this.service.increaseOfAmount(after, "/amountRequested"));
	}

	@Test
	void reconciliationFindsThePaymentWhoseKeyIsGone() {
		this.service.order(20, 0);
		this.service.awaitConsumption();
		assertThat(this.service.reconcile("LedgerListener.charge").path("findings").longValue()).isZero();
		String payment = this.jdbc.sql("select payment_id from ledger_entry where ledger = 'ledger' limit 1")
			.query(String.class)
			.single();
		IdempotencyKey key = IdempotencyKey.of("ledger/payments", payment);
		assertThat(this.store.records().orElseThrow().evict(key, false)).isEqualTo(Change.DONE);
		JsonNode run = this.service.reconcile("LedgerListener.charge");
		assertThat(run.path("state").asString()).isEqualTo("DONE");
		// Another test may have sent the payment twice.
		assertThat(run.path("records")).isNotEmpty().allSatisfy((record) -> {
			assertThat(record.path("status").asString()).isEqualTo("MISSING");
			assertThat(record.path("key").asString()).isEqualTo(payment);
		});
		// The key of the transaction that charged it, for the other tests.
		ClaimRequest request = new ClaimRequest(key, UUID.randomUUID(), null, Duration.ofMinutes(1),
				Duration.ofDays(7));
		this.store.claim(List.of(request));
		this.store.settle(List.of(new Ending.Completed(request, null)));
	}

	@Test
	void paymentIsChargedOnceWhenItsHandlerFailsMidway() {
		this.service.crash();
		this.service.order(20, 0);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/protected/deliveries")).isGreaterThan(20);
		assertThat(this.service.increase(after, "/protected/charges")).isEqualTo(20);
		assertThat(this.service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(this.service.increaseOfAmount(after, "/amountRequested"));
	}

}
