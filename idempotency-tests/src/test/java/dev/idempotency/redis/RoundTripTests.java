/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the number of commands of a protected record.
 */
class RoundTripTests {

	private static final Pattern SCRIPTS = Pattern.compile("cmdstat_(?:evalsha|eval):calls=(\\d+)");

	// A server of its own, because the commands of other tests would be counted.
	private static RedisProcess server;

	private static TestRedis redis;

	private static IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeAll
	static void startServer() {
		server = RedisProcess.create();
		redis = TestRedis.create(server);
		template = new IdempotencyTemplate(redis.store(), new Settings(null, false, Observers.none()));
		run(TestDatabase.newKey());
	}

	@AfterAll
	static void stopServer() {
		redis.close();
		server.stop();
	}

	private static void run(IdempotencyKey key) {
		template.execute(TestDatabase.operation(key, Mode.LEASED), new TextCodec(), () -> "done");
	}

	@Test
	void newRecordCostsTwoRoundTrips() {
		assertThat(count(() -> run(this.key))).isEqualTo(2);
	}

	@Test
	void duplicateCostsOneRoundTrip() {
		run(this.key);
		assertThat(count(() -> run(this.key))).isOne();
	}

	@Test
	void eachKeyOfABatchCostsOneCommandToClaimAndOneToComplete() {
		List<ClaimRequest> requests = requests(500);
		List<ClaimRequest> known = requests.stream()
			.limit(100)
			.map((request) -> TestDatabase.request(request.key()))
			.toList();
		redis.store().claim(known);
		redis.store().settle(Endings.completed(known, new byte[] { 1 }));
		assertThat(count(() -> assertThat(redis.store().claim(requests)).filteredOn(Claim.Acquired.class::isInstance)
			.hasSize(400))).isEqualTo(500);
		assertThat(count(() -> redis.store().settle(Endings.completed(requests.subList(100, 500), new byte[] { 1 }))))
			.isEqualTo(400);
	}

	// A frozen server does not reply, so all commands that it executes later have been
	// sent before the first reply.
	@Test
	void allCommandsOfABatchAreSentBeforeTheFirstReply() {
		List<ClaimRequest> requests = requests(500);
		long before = scripts();
		server.freeze();
		try {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> redis.store().claim(requests));
		}
		finally {
			server.resume();
		}
		await().until(() -> scripts() - before == 500);
		assertThat(redis.store().claim(requests)).containsOnly(new Claim.Acquired(1, 1));
	}

	private static List<ClaimRequest> requests(int size) {
		return Stream.generate(() -> TestDatabase.request(TestDatabase.newKey())).limit(size).toList();
	}

	private static long count(Runnable action) {
		long before = scripts();
		action.run();
		return scripts() - before;
	}

	// Redis counts the commands that a script calls under their own names.
	private static long scripts() {
		Matcher matcher = SCRIPTS.matcher(redis.commands().info("commandstats"));
		return matcher.results().mapToLong((result) -> Long.parseLong(result.group(1))).sum();
	}

}
