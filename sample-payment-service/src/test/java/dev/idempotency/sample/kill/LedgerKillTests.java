/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.kill;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Future;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

import dev.idempotency.sample.SamplePaymentApplication;
import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ConsumerLag;
import dev.idempotency.test.kill.EffectQuery;
import dev.idempotency.test.kill.KillHarness;
import dev.idempotency.test.kill.KillReport;
import dev.idempotency.test.kill.Round;

/**
 * The example of {@code docs/kill-tests.md}: kills the payment service under traffic and
 * counts the charges of its ledger. {@code -Dtest.kill.rounds=5} enables it.
 */
class LedgerKillTests {

	private static final int ROUNDS = Integer.getInteger("test.kill.rounds", 5);

	@Test
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Takes some minutes")
	void eachPaymentIsChargedOnceWhenProcessesAreKilledAndFrozen() throws Exception {
		EmbeddedKafkaKraftBroker broker = new EmbeddedKafkaKraftBroker(1, 3);
		broker.afterPropertiesSet();
		String servers = broker.getBrokersAsString();
		try (EmbeddedPostgres postgres = EmbeddedPostgres.start();
				KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of("bootstrap.servers", servers),
						new StringSerializer(), new StringSerializer());
				ConsumerLag lag = new ConsumerLag(servers, "ledger", "payments")) {
			ChildApplication service = ChildApplication.main(SamplePaymentApplication.class)
				.property("spring.kafka.bootstrap-servers", servers)
				.property("spring.datasource.url", postgres.getJdbcUrl("postgres", "postgres"))
				.property("spring.datasource.username", "postgres")
				.property("server.port", "0")
				.property("idempotency.lease", "5s");
			KillReport report = KillHarness.of(service)
				.instances(2)
				.traffic((round) -> sendPayments(producer, round))
				.pending(lag)
				.effects(EffectQuery.sql(postgres.getPostgresDatabase(),
						"select payment_id from ledger_entry where ledger = 'ledger' order by id"))
				.kills(ROUNDS)
				.freezes(1, Duration.ofSeconds(15))
				.run();
			System.out.println(report);
			report.assertNoneLost();
			report.assertNoneDoubled();
		}
		finally {
			broker.destroy();
		}
	}

	private static void sendPayments(KafkaProducer<String, String> producer, Round round) throws Exception {
		// The first process creates the topic.
		round.process();
		Map<String, Future<?>> acknowledgments = new LinkedHashMap<>();
		for (int i = 0; i < 2000; i++) {
			String payment = UUID.randomUUID().toString();
			ProducerRecord<String, String> record = new ProducerRecord<>("payments",
					"{\"paymentId\":\"%s\",\"account\":\"ACC-01\",\"amount\":1.00}".formatted(payment));
			record.headers().add("Idempotency-Key", payment.getBytes(StandardCharsets.UTF_8));
			// Three in ten are sent twice.
			if (round.random().nextInt(10) < 3) {
				producer.send(record);
			}
			acknowledgments.put(payment, producer.send(record));
		}
		for (Map.Entry<String, Future<?>> payment : acknowledgments.entrySet()) {
			payment.getValue().get();
			round.sent(payment.getKey());
		}
	}

}
