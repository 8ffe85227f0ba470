/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link RedisServerCheck}.
 */
class RedisServerCheckTests {

	private static final Duration NEVER = Duration.ofHours(1);

	private final RedisProcess server = RedisProcess.create("--maxmemory", "100mb");

	private final Published published = new Published();

	private Logs logs;

	@BeforeEach
	void openLogs() {
		this.logs = new Logs();
	}

	@AfterEach
	void stopServer() {
		this.logs.close();
		this.server.stop();
	}

	private LettuceConnectionFactory factory(String user) {
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration(this.server.host(),
				this.server.port());
		configuration.setUsername(user);
		configuration.setPassword("secret");
		return TestRedis.started(new LettuceConnectionFactory(configuration));
	}

	private void policy(String policy) {
		this.server.ask("CONFIG SET maxmemory-policy " + policy);
	}

	@Test
	@Tag("promise-15")
	void policyThatChangesWhileTheApplicationRunsIsReported() {
		try (TestRedis redis = TestRedis.create(this.server)) {
			RedisServerCheck check = new RedisServerCheck(redis.store(), false, this.published, Duration.ofMillis(50));
			check.start();
			assertThat(this.published.latest()).isFalse();
			policy("allkeys-lru");
			await().untilAsserted(() -> assertThat(this.published.latest()).isTrue());
			assertThat(redis.store().warning()).get()
				.asString()
				.startsWith("Redis has the memory policy 'allkeys-lru'. When its memory is full, it evicts")
				.endsWith("Set 'maxmemory-policy' to 'noeviction'.");
			policy("noeviction");
			await().untilAsserted(() -> assertThat(this.published.latest()).isFalse());
			assertThat(redis.store().warning()).isEmpty();
			check.stop();
			assertThat(this.logs.messages("WARN")).singleElement().asString().startsWith("Redis has the memory policy");
			assertThat(this.logs.messages("INFO")).singleElement().asString().endsWith("does not evict keys");
		}
	}

	@Test
	@Tag("promise-15")
	void serverIsCheckedAgainAfterANewConnection() {
		try (TestRedis redis = TestRedis.create(this.server)) {
			RedisServerCheck check = new RedisServerCheck(redis.store(), true, this.published, NEVER);
			check.start();
			policy("volatile-lru");
			this.server.ask("CLIENT KILL TYPE normal");
			await().untilAsserted(() -> assertThat(this.published.latest()).isTrue());
			check.stop();
			assertThat(this.logs.messages("ERROR")).singleElement()
				.asString()
				.startsWith("Redis has the memory policy 'volatile-lru'");
		}
	}

	@Test
	@Tag("promise-12")
	void evictionIsRefusedAtTheStart() {
		policy("allkeys-lru");
		try (TestRedis redis = TestRedis.create(this.server)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> new RedisServerCheck(redis.store(), true, this.published, NEVER).start())
				.withMessageStartingWith("Redis has the memory policy 'allkeys-lru'")
				.satisfies((ex) -> assertThat(ex.action()).isEqualTo("Set 'maxmemory-policy' to 'noeviction'."));
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			~test:* +@all -set -time                       | 0 | SET, TIME
			~test:* +@all -eval -evalsha                   | 0 | EVALSHA, EVAL
			~other:* +@all                                 | 0 | EVALSHA, EVAL, GET, SET, PTTL
			~test:* +evalsha +eval +get +set +pttl +time   | 1 | WAIT
			""")
	@Tag("promise-12")
	void missingPermissionIsRefusedAtTheStart(String rule, int replicas, String missing) {
		this.server.ask("ACL SETUSER limited on >secret " + rule);
		LettuceConnectionFactory factory = factory("limited");
		try (RedisIdempotencyStore store = TestRedis.store(factory, replicas)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> new RedisServerCheck(store, false, this.published, NEVER).start())
				.withMessage("Redis refuses " + missing
						+ " on keys that begin with 'test:' to the user of the idempotency store.")
				.satisfies((ex) -> assertThat(ex.action())
					.isEqualTo("Allow it with 'ACL SETUSER <user> ~test:* +evalsha +eval +get +set +pttl +time +info"
							+ ((replicas > 0) ? " +wait" : "") + "'."));
		}
		finally {
			factory.destroy();
		}
	}

	@Test
	@Tag("promise-12")
	void userWithThePermissionsOfTheRuleIsAccepted() {
		this.server.ask("ACL SETUSER limited on >secret ~test:* +evalsha +eval +get +set +pttl +time +info");
		LettuceConnectionFactory factory = factory("limited");
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			RedisServerCheck check = new RedisServerCheck(store, true, this.published, NEVER);
			check.start();
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(store).claim(request);
			assertThat(one(store).renew(request)).isEqualTo(Settlement.SETTLED);
			assertThat(one(store).complete(request, null)).isEqualTo(Settlement.SETTLED);
			check.stop();
			assertThat(store.warning()).isEmpty();
			assertThat(this.server.ask("KEYS test:*")).doesNotContain("check");
		}
		finally {
			factory.destroy();
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@Tag("promise-15")
	void policyThatMayNotBeReadIsReported(boolean refuse) {
		policy("allkeys-lru");
		this.server.ask("ACL SETUSER limited on >secret ~test:* +@all -info");
		LettuceConnectionFactory factory = factory("limited");
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			RedisServerCheck check = new RedisServerCheck(store, refuse, this.published, NEVER);
			String finding = "Redis refuses INFO to the user of the idempotency store";
			if (refuse) {
				assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(check::start)
					.withMessageStartingWith(finding);
			}
			else {
				check.start();
				check.stop();
				assertThat(store.warning()).get().asString().startsWith(finding);
				assertThat(this.logs.messages("WARN")).singleElement().asString().startsWith(finding);
			}
			assertThat(this.published.evictions).isEmpty();
		}
		finally {
			factory.destroy();
		}
	}

	// After a failover, the old master is a replica, where WAIT is an error.
	@Test
	@Tag("promise-12")
	void replicaIsAcceptedAtTheStart() {
		RedisProcess replica = RedisProcess.create("--replicaof", this.server.host(),
				String.valueOf(this.server.port()));
		LettuceConnectionFactory factory = TestRedis.factory(replica);
		try (RedisIdempotencyStore store = TestRedis.store(factory, 1)) {
			RedisServerCheck check = new RedisServerCheck(store, false, this.published, NEVER);
			check.start();
			check.stop();
			assertThat(store.warning()).isEmpty();
		}
		finally {
			factory.destroy();
			replica.stop();
		}
	}

	@Test
	@Tag("promise-12")
	void wrongPasswordIsRefusedAtTheStart() {
		this.server.ask("ACL SETUSER limited on >other ~* +@all");
		LettuceConnectionFactory factory = factory("limited");
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> new RedisServerCheck(store, false, this.published, NEVER).start())
				.withMessage("Redis refuses the connection of the idempotency store (WRONGPASS).");
		}
		finally {
			factory.destroy();
		}
	}

	/**
	 * Records what the check reports.
	 */
	private static final class Published implements Consumer<Boolean> {

		private final List<Boolean> evictions = new CopyOnWriteArrayList<>();

		@Override
		public void accept(Boolean possible) {
			this.evictions.add(possible);
		}

		boolean latest() {
			return this.evictions.get(this.evictions.size() - 1);
		}

	}

}
