/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Stream;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.protocol.CommandType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a {@link RedisIdempotencyStore} whose server is unavailable or refuses
 * commands.
 */
@Tag("promise-11")
class StoreUnavailableTests {

	private static final ClaimRequest REQUEST = TestDatabase.request(TestDatabase.newKey());

	// Far below the 60 seconds of Lettuce.
	private static final Duration BOUND = TestRedis.TIMEOUT.plusSeconds(10);

	private static final String LATE = "Redis did not answer within " + TestRedis.TIMEOUT;

	private static RedisProcess server;

	private static TestRedis redis;

	@BeforeAll
	static void startServer() {
		server = RedisProcess.durable();
		redis = TestRedis.create(server);
	}

	@AfterAll
	static void stopServer() {
		redis.close();
		server.stop();
	}

	static Stream<Named<BiConsumer<RedisIdempotencyStore, ClaimRequest>>> calls() {
		return Stream.of(Named.of("claim", (store, claim) -> one(store).claim(claim)),
				Named.of("complete", (store, claim) -> one(store).complete(claim, null)),
				Named.of("fail", (store, claim) -> one(store).fail(claim, new Failure("x", null))),
				Named.of("release", (store, claim) -> one(store).release(claim)),
				Named.of("renew", (store, claim) -> one(store).renew(claim)),
				Named.of("renew all", (store, claim) -> store.renew(List.of(claim, REQUEST))),
				Named.of("find", (store, claim) -> one(store).find(claim.key())),
				Named.of("ping", (store, claim) -> store.ping()));
	}

	private static void assertUnavailable(String message, Runnable call) {
		long start = System.nanoTime();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(call::run)
			.withMessage(message);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(BOUND);
	}

	@ParameterizedTest
	@MethodSource("calls")
	void callEndsWithinTheTimeoutWhenTheServerIsFrozen(BiConsumer<RedisIdempotencyStore, ClaimRequest> call) {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(redis.store()).claim(request);
		server.freeze();
		try {
			assertUnavailable(LATE, () -> call.accept(redis.store(), request));
		}
		finally {
			server.resume();
		}
		await().ignoreExceptions().until(() -> one(redis.store()).find(request.key()).isPresent());
	}

	@Test
	void firstCallEndsWithinTheTimeoutWhenTheServerIsFrozen() {
		LettuceConnectionFactory factory = TestRedis.factory(server);
		server.freeze();
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			assertUnavailable(LATE, store::ping);
			assertUnavailable(LATE, store::ping);
		}
		finally {
			server.resume();
		}
		factory.destroy();
	}

	@Test
	void storeThatIsCreatedDuringAnOutageConnectsLater() {
		RedisProcess down = RedisProcess.create();
		down.stop();
		LettuceConnectionFactory factory = TestRedis.factory(down);
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			assertUnavailable("Redis cannot be reached", store::ping);
			down.start();
			await().atMost(Duration.ofSeconds(10)).ignoreExceptions().untilAsserted(store::ping);
			assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey())))
				.isEqualTo(new Claim.Acquired(1, 1));
		}
		finally {
			factory.destroy();
			down.stop();
		}
	}

	@Test
	void storeKeepsItsRecordsOverARestartOfTheServer() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(redis.store()).claim(request);
		server.stop();
		try {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(redis.store()).complete(request, null));
		}
		finally {
			server.start();
		}
		await().atMost(Duration.ofSeconds(20))
			.ignoreExceptions()
			.until(() -> one(redis.store()).complete(request, null), Settlement.SETTLED::equals);
	}

	@Test
	void claimThatTimesOutBeforeItIsSentIsNeverSent() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		redis.store().ping();
		server.stop();
		try {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(redis.store()).claim(request));
		}
		finally {
			server.start();
		}
		await().atMost(Duration.ofSeconds(20)).ignoreExceptions().untilAsserted(redis.store()::ping);
		assertThat(one(redis.store()).find(request.key())).isEmpty();
	}

	@Test
	void interruptedThreadCompletesAndStaysInterrupted() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(redis.store()).claim(request);
		Thread.currentThread().interrupt();
		assertThat(one(redis.store()).complete(request, null)).isEqualTo(Settlement.SETTLED);
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	void serverWithoutMemoryIsUnavailable() {
		redis.commands().configSet("maxmemory", "1");
		try {
			assertUnavailable("Redis refused the command (OOM)",
					() -> one(redis.store()).claim(TestDatabase.request(TestDatabase.newKey())));
		}
		finally {
			redis.commands().configSet("maxmemory", "0");
		}
	}

	@Test
	@Tag("promise-14")
	void commandWithoutPermissionIsRefused() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(redis.store()).claim(request);
		// Another test may have closed the connection.
		await().ignoreExceptions()
			.until(() -> redis.commands()
				.aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.EVALSHA)), "OK"::equals);
		try {
			calls().forEach((call) -> assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
				.isThrownBy(() -> call.getPayload().accept(redis.store(), request))
				.withMessage("Redis refused the command (NOPERM)")
				.satisfies((refusal) -> assertThat(refusal.code()).isEqualTo("NOPERM")));
		}
		finally {
			redis.commands().aclSetuser("default", AclSetuserArgs.Builder.addCommand(CommandType.EVALSHA));
		}
		assertThat(one(redis.store()).complete(request, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-14")
	void errorOfACommandIsARefusal() {
		Function<String, OperationBlockedException> blocked = (message) -> RedisErrors
			.blocked(new ExecutionException(new RedisCommandExecutionException(message)), TestRedis.TIMEOUT);
		assertThat(List.of("ERR unknown command 'EVALSHA'", "NOPERM no permissions", "NOSCRIPT No matching script"))
			.allSatisfy((message) -> assertThat(blocked.apply(message))
				.isInstanceOf(IdempotencyStoreRefusedException.class));
		assertThat(List.of("OOM command not allowed", "READONLY You can't write", "WRONGPASS invalid", "LOADING Redis",
				"ERR Error running script: CLUSTERDOWN Hash slot not served"))
			.allSatisfy((message) -> assertThat(blocked.apply(message))
				.isInstanceOf(IdempotencyStoreUnavailableException.class));
	}

	@Test
	void stoppedFactoryIsUnavailable() {
		LettuceConnectionFactory factory = TestRedis.factory(server);
		RedisIdempotencyStore store = TestRedis.store(factory, 0);
		store.ping();
		factory.destroy();
		assertUnavailable("Redis cannot be reached", store::ping);
	}

	@Test
	@Tag("promise-12")
	void invalidSettingsAreRefused() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory();
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> TestRedis.store(factory, -1))
			.withMessage("'idempotency.redis.replicas' is -1.");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new RedisIdempotencyStore(factory, "x", 0, Duration.ofMillis(99)))
			.withMessage("'idempotency.store.timeout' is PT0.099S.");
	}

}
