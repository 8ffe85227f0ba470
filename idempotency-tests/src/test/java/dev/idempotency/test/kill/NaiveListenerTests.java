/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import javax.sql.DataSource;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the kill harness finds the defects of naive listeners, and none of protected
 * ones. In each build, {@link KillHarnessTests} lets it find the same defects of a
 * program without Kafka, and {@code CrashTests} kills protected listeners.
 */
@ResourceLock("storms")
@Tag("storm")
@Order(1)
class NaiveListenerTests {

	private static final int PARTITIONS = 6;

	private static final int PAYMENTS = 200;

	private static final Set<String> NAIVE = Set.of(NaiveApp.UNPROTECTED, NaiveApp.INSERT_FIRST, NaiveApp.LOOK_UP);

	private static final Duration LEASE = Duration.ofSeconds(4);

	private String topic;

	private DataSource database;

	@Test
	@Tag("promise-1")
	@Tag("promise-4")
	@Tag("promise-5")
	@Tag("promise-6")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void naiveListenersLoseOrDoublePaymentsWhenProcessesAreKilledFrozenAndReplaced() {
		KillReport report = harness().instances(2)
			.kills(Integer.getInteger("test.kill.rounds"))
			.freezes(3, LEASE.multipliedBy(2))
			.terminations(3)
			.run();
		System.out.println(report);
		assertProtected(report);
		assertThat(NAIVE).allMatch((listener) -> isFound(report, listener));
	}

	private static boolean isFound(KillReport report, String listener) {
		EffectReport effects = report.effects(listener);
		return listener.equals(NaiveApp.INSERT_FIRST) ? !effects.lost().isEmpty() : !effects.doubled().isEmpty();
	}

	private static void assertProtected(KillReport report) {
		assertThat(report.interruptions()).filteredOn(Interruption::inFlight).hasSizeGreaterThan(1);
		assertThat(report.effects(NaiveApp.UNPROTECTED).lost()).isEmpty();
		report.effects(NaiveApp.TRANSACTIONAL).assertNoneLost();
		report.effects(NaiveApp.TRANSACTIONAL).assertNoneDoubled();
		report.effects(NaiveApp.LEASED).assertNoneLost();
		report.effects(NaiveApp.LEASED).assertDoubledAtMost(NaiveApp.THREADS);
		report.effects(NaiveApp.LEASED).assertDoubledOnlyByInterruptedProcesses(NaiveApp.THREADS);
	}

	private KillHarness harness() {
		String url = Servers.newDatabase();
		this.topic = Servers.newTopic("naive", PARTITIONS);
		this.database = new DriverManagerDataSource(url, Servers.postgres().username(), Servers.postgres().password());
		NaiveApp.createTables(new JdbcTemplate(this.database));
		ChildApplication application = TestApp.of(NaiveApp.class)
			.database(url)
			.with("topic", this.topic)
			.with("idempotency.lease", LEASE.toSeconds() + "s")
			.with("idempotency.store.timeout", "500ms")
			.with("spring.kafka.consumer.max-poll-records", 50)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 2000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 500)
			.child()
			.readyWhenOutputContains(NaiveApp.STARTED);
		KillHarness harness = KillHarness.of(application).traffic(this::send).pending(this::pending);
		NaiveApp.LISTENERS.forEach((listener) -> harness.effects(listener, EffectQuery.sql(this.database,
				"SELECT payment, process FROM charge WHERE listener = '" + listener + "' ORDER BY position")));
		return harness;
	}

	private void send(Round round) throws ExecutionException, InterruptedException {
		List<Future<?>> acknowledgments = new ArrayList<>();
		for (int i = 0; i < PAYMENTS; i++) {
			String payment = round.number() + "-" + i;
			int partition = round.random().nextInt(PARTITIONS);
			acknowledgments.add(Kafka.sendSoon(Kafka.record(this.topic, partition, payment, payment)));
			round.sent(payment);
		}
		for (Future<?> acknowledgment : acknowledgments) {
			acknowledgment.get();
		}
	}

	// The moment of a kill depends on the naive listeners, which are faster.
	private long pending() {
		long naive = lag(NaiveApp.UNPROTECTED) + lag(NaiveApp.INSERT_FIRST) + lag(NaiveApp.LOOK_UP);
		return (naive > 0) ? naive : lag(NaiveApp.TRANSACTIONAL) + lag(NaiveApp.LEASED);
	}

	private long lag(String listener) {
		return Kafka.lag(this.topic + "-" + listener, this.topic);
	}

}
