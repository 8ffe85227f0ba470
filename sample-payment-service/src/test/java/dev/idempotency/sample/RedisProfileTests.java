/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.test.context.ActiveProfiles;
import tools.jackson.databind.JsonNode;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.ScopeCount;
import dev.idempotency.store.IdempotencyStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the service with the profile {@code redis}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@ActiveProfiles("redis")
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("redis")
class RedisProfileTests {

	private static final String GATEWAY = "gateway/payments";

	@LocalServerPort
	private int port;

	@Autowired
	@Qualifier("gateway")
	private IdempotencyStore gateway;

	@Autowired
	private StringRedisTemplate redis;

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private KafkaTemplate<String, PaymentCommand> kafka;

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		int keysBefore = this.redis.keys("*").size();
		assertThat(service.stores())
			.hasToString("[{\"name\":\"jdbc\",\"type\":\"jdbc\",\"product\":\"PostgreSQL\",\"transactional\":true},"
					+ "{\"name\":\"gateway\",\"type\":\"redis\",\"product\":\"Redis\",\"transactional\":false}]");
		// The handler of one payment runs twice, and its first charge is rolled back.
		service.crash();
		service.order(200, 0.5);
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/protected/suppressed")).isGreaterThanOrEqualTo(100);
		assertThat(service.increase(after, "/gateway/calls")).isGreaterThanOrEqualTo(200);
		assertThat(service.increase(after, "/gateway/suppressed")).isGreaterThanOrEqualTo(100);
		assertThat(service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(service.increaseOfAmount(after, "/statements/amount"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(this.redis.keys("*")).hasSize(keysBefore + 200);
		// A scan of Redis may be late on a machine that is busy.
		await().ignoreException(IdempotencyStoreUnavailableException.class)
			.untilAsserted(
					() -> assertThat(this.gateway.records().map(IdempotencyRecords::overview).orElseThrow().scopes())
						.extracting(ScopeCount::name)
						.containsExactly(GATEWAY));
		assertThat(this.jdbc.sql("select distinct scope from idempotency_record").query(String.class).list())
			.containsExactlyInAnyOrder("ledger/payments", "statement/payment-charged");
		assertThat(chargesWithTheTransactionOfTheirKey()).isEqualTo(after.at("/protected/charges").longValue());
	}

	@Test
	void callThatIsRepeatedAfterACrashIsChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		service.order(1, 0);
		service.awaitConsumption();
		PaymentCommand payment = newestPayment();
		// Simulates a crash after the call and before the completion of its key.
		IdempotencyKey key = IdempotencyKey.of(GATEWAY, payment.paymentId().toString());
		assertThat(this.redis.delete("idempotency:{" + key.id().toString().replace("-", "") + "}")).isTrue();
		ProducerRecord<String, PaymentCommand> message = new ProducerRecord<>(PaymentTopic.NAME, payment.account(),
				payment);
		message.headers().add("Idempotency-Key", payment.paymentId().toString().getBytes(StandardCharsets.UTF_8));
		this.kafka.send(message).join();
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/gateway/calls")).isEqualTo(2);
		assertThat(service.increase(after, "/gateway/charges")).isOne();
		assertThat(service.increase(after, "/protected/suppressed")).isOne();
		assertThat(service.increase(after, "/protected/charges")).isOne();
		assertThat(service.increase(after, "/statements/applied")).isOne();
	}

	private PaymentCommand newestPayment() {
		return this.jdbc.sql("select payment_id, account, amount from statement_line order by id desc limit 1")
			.query(PaymentCommand.class)
			.single();
	}

	// PostgreSQL stores the transaction that has written a row in its column xmin.
	private long chargesWithTheTransactionOfTheirKey() {
		return this.jdbc.sql("""
				select count(*) from ledger_entry charge join idempotency_record record
				on record.scope = 'ledger/payments' and record.key = charge.payment_id::text
				where charge.ledger = 'ledger' and charge.xmin = record.xmin
				""").query(Long.class).single();
	}

}
