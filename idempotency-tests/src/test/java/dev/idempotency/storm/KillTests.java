/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Random;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import dev.idempotency.test.kill.KillHarness;

/**
 * Tests for a process that is killed repeatedly under load.
 */
@Tag("storm")
@ResourceLock("storms")
@Order(1)
class KillTests {

	private static final int ROUNDS = Integer.getInteger("test.kill.rounds", 1);

	private static final int PAYMENTS = 1000;

	// Repeats a run, as far as processes can be repeated.
	private final long seed = Long.getLong(KillHarness.SEED_PROPERTY, new Random().nextInt(Integer.MAX_VALUE));

	// In each build, CrashTests kills a process at each point of this shape and of leased
	// mode on PostgreSQL.
	@ParameterizedTest
	@CsvSource("TRANSACTIONAL, JDBC")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	@Tag("promise-1")
	@Tag("promise-5")
	@Tag("promise-7")
	void paymentsAreChargedExactlyOnceWhenTheProcessIsKilled(Shape shape, Store store) {
		PaymentKills.Result result = kills(shape, store).run(shape.speed() * PAYMENTS, ROUNDS);
		result.assertNoneLost();
		result.assertNoneDoubled();
	}

	@ParameterizedTest
	@CsvSource("RECORD, REDIS")
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void paymentsAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(Shape shape, Store store) {
		PaymentKills.Result result = kills(shape, store).run(shape.speed() * PAYMENTS, ROUNDS);
		result.assertNoneLost();
		result.assertRepeatedOnlyByKilledProcesses();
	}

	@ParameterizedTest
	@CsvSource({ "BATCH_TRANSACTIONAL, JDBC", "TRANSACTIONAL, MARIADB", "BATCH_TRANSACTIONAL, MARIADB", "OFFSET, JDBC",
			"BATCH_OFFSET, JDBC", "OFFSET, MARIADB" })
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void paymentsOfOtherTransactionalShapesAreChargedExactlyOnceWhenTheProcessIsKilled(Shape shape, Store store) {
		paymentsAreChargedExactlyOnceWhenTheProcessIsKilled(shape, store);
	}

	@ParameterizedTest
	@CsvSource({ "RECORD, JDBC", "BATCH, JDBC", "BATCH, REDIS", "ASYNC, JDBC", "KAFKA_TRANSACTION, JDBC",
			"RECORD, MARIADB", "BATCH, MARIADB", "RECORD, DYNAMO_DB", "BATCH, DYNAMO_DB" })
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void paymentsOfOtherLeasedShapesAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(Shape shape,
			Store store) {
		paymentsAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(shape, store);
	}

	@ParameterizedTest
	@CsvSource({ "ASYNC_FAILING, JDBC", "ASYNC_FAILING, REDIS" })
	@Tag("promise-1")
	@Tag("promise-6")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void asynchronousPaymentsWithFailuresAreDrainedDespiteTenKills(Shape shape, Store store) {
		PaymentKills.Result result = kills(shape, store).run(300, 10);
		result.assertNoneLost();
		result.assertRepeatedOnlyByKilledProcesses();
	}

	@ParameterizedTest
	@CsvSource({ "REFUSING, JDBC", "REFUSING, MARIADB" })
	@Tag("promise-1")
	@Tag("promise-5")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void refusedPaymentsAreNotChargedAndTheOthersOnceDespiteTenKills(Shape shape, Store store) {
		PaymentKills.Result result = kills(shape, store).run(300, 10);
		result.assertNoneLost();
		result.assertNoneDoubled();
	}

	@ParameterizedTest
	@CsvSource("ASYNC_FAILING, JDBC")
	@Tag("promise-1")
	@Tag("promise-3")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void asynchronousPaymentsWithFailuresAreChargedOnceWithoutKills(Shape shape, Store store) {
		PaymentKills.Result result = kills(shape, store).run(3000, 0);
		result.assertNoneLost();
		result.assertNoneDoubled();
	}

	@ParameterizedTest
	@CsvSource({ "VERSION_TRANSACTIONAL, JDBC", "BATCH_VERSION_TRANSACTIONAL, JDBC", "VERSION, JDBC", "VERSION, REDIS",
			"BATCH_VERSION, REDIS", "VERSION_TRANSACTIONAL, MARIADB", "VERSION, DYNAMO_DB" })
	@Tag("promise-1")
	@Tag("promise-3")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void versionsOfAnAccountOnlyGrowDespiteTenKills(Shape shape, Store store) {
		PaymentKills.VersionResult result = kills(shape, store).runVersions(shape.speed() * PAYMENTS, 10);
		result.assertVersionsGrow();
		System.out.printf("%s, %s: versions of %d accounts in %d records, killed %d processes%n", shape, store,
				result.traffic().highest().size(), result.traffic().records(), result.report().killed().size());
	}

	private PaymentKills kills(Shape shape, Store store) {
		return new PaymentKills(shape, store, this.seed);
	}

}
