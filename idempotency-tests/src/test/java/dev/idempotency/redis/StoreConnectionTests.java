/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.FaultyNetwork;
import dev.idempotency.testsupport.FaultyNetwork.Fault;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link StoreConnection}.
 */
@Tag("promise-11")
class StoreConnectionTests {

	private static final Duration TIMEOUT = Duration.ofMillis(500);

	private final FaultyNetwork network = new FaultyNetwork(Servers.redis().port());

	private final LettuceConnectionFactory factory = TestRedis
		.started(new LettuceConnectionFactory("localhost", this.network.port()));

	@AfterEach
	void close() {
		this.factory.destroy();
		this.network.close();
	}

	// A pool would lend a connection again that was lost.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void connectionThatTheNetworkHasLostIsReplacedWhenTheServerAnswersOnANewOne(boolean pool) {
		LettuceConnectionFactory pooled = TestRedis
			.started(new LettuceConnectionFactory(new RedisStandaloneConfiguration("localhost", this.network.port()),
					LettucePoolingClientConfiguration.builder().build()));
		RedisIdempotencyStore store = new RedisIdempotencyStore(pool ? pooled : this.factory, TestRedis.PREFIX, 0,
				TIMEOUT);
		TestRedis.awaitContact(store);
		// A new connection lets it run, also on the connection that is lost.
		Lifecycle check = store.serverCheck(false, (evicts) -> {
		});
		check.start();
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		try (Logs logs = Logs.about("the network has lost")) {
			this.network.set(Fault.HALF_OPEN);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(store).claim(request));
			this.network.set(Fault.NONE);
			await().atMost(Duration.ofSeconds(60))
				.ignoreExceptions()
				.until(() -> one(store).claim(request) instanceof Claim.Acquired);
			assertThat(logs.messages("WARN")).isNotEmpty();
		}
		finally {
			check.stop();
			store.close();
			pooled.destroy();
		}
	}

	@Test
	void connectionForReplicasThatTheNetworkHasLostIsReplaced() {
		RedisIdempotencyStore store = new RedisIdempotencyStore(this.factory, TestRedis.PREFIX, 1, TIMEOUT);
		TestRedis.awaitContact(store);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		await().ignoreExceptions().until(() -> one(store).claim(request) instanceof Claim.Acquired);
		await().ignoreExceptions()
			.untilAsserted(() -> assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(store).complete(request, null))
				.withMessageContaining("0 of 1 required replicas"));
		this.network.set(Fault.HALF_OPEN);
		this.network.set(Fault.NONE);
		// Without a replica, this refusal is the answer of the server.
		await().atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(store).complete(request, null))
				.withMessageContaining("0 of 1 required replicas"));
		store.close();
	}

	@Test
	@Tag("promise-13")
	void connectionOfTheApplicationStaysOpen() {
		RedisIdempotencyStore store = new RedisIdempotencyStore(this.factory, TestRedis.PREFIX, 0, TIMEOUT);
		TestRedis.awaitContact(store);
		try (RedisConnection connection = this.factory.getConnection()) {
			store.close();
			assertThat(connection.ping()).isEqualTo("PONG");
		}
	}

	// A checkpoint of the JVM stops and starts the factory.
	@Test
	void connectionThatTheNetworkHasLostIsReplacedAlsoAfterARestartOfTheFactory() {
		RedisIdempotencyStore store = new RedisIdempotencyStore(this.factory, TestRedis.PREFIX, 0, TIMEOUT);
		TestRedis.awaitContact(store);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		this.factory.stop();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> one(store).claim(request));
		this.factory.start();
		await().ignoreExceptions().until(() -> one(store).claim(request) instanceof Claim.Acquired);
		this.network.set(Fault.HALF_OPEN);
		this.network.set(Fault.NONE);
		await().atMost(Duration.ofSeconds(20))
			.ignoreExceptions()
			.until(() -> one(store).claim(request) instanceof Claim.Acquired);
		store.close();
	}

	// Lettuce would warn of it at each shutdown of an application.
	@Test
	void connectionIsNotClosedTwice() {
		RedisIdempotencyStore store = new RedisIdempotencyStore(this.factory, TestRedis.PREFIX, 1, TIMEOUT);
		TestRedis.awaitContact(store);
		Logger logger = (Logger) LoggerFactory.getLogger("io.lettuce.core.RedisChannelHandler");
		ListAppender<ILoggingEvent> appender = new ListAppender<>();
		appender.list = new CopyOnWriteArrayList<>();
		appender.start();
		logger.addAppender(appender);
		logger.setLevel(Level.WARN);
		try {
			this.factory.stop();
			store.close();
			assertThat(appender.list).extracting(ILoggingEvent::getFormattedMessage).isEmpty();
		}
		finally {
			logger.setLevel(null);
			logger.detachAppender(appender);
		}
	}

	@Test
	void storeUsesTheConnectionOfAFactoryWithAStaticMasterAndItsReplicas() {
		LettuceConnectionFactory masterReplica = TestRedis.started(new LettuceConnectionFactory(
				new RedisStaticMasterReplicaConfiguration("localhost", this.network.port())));
		RedisIdempotencyStore store = new RedisIdempotencyStore(masterReplica, TestRedis.PREFIX, 0, TIMEOUT);
		TestRedis.awaitContact(store);
		assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey()))).isInstanceOf(Claim.Acquired.class);
		store.close();
		masterReplica.destroy();
	}

}
