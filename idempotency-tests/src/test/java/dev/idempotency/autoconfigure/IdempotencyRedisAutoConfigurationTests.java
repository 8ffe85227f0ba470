/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions.RefreshTrigger;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.ClientResourcesBuilderCustomizer;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.LettuceClientOptionsBuilderCustomizer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.actuate.IdempotencyStoreHealthIndicator;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link IdempotencyRedisAutoConfiguration}.
 */
class IdempotencyRedisAutoConfigurationTests {

	private final ApplicationContextRunner runner = Contexts.without(DataSourceAutoConfiguration.class)
		.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
		.withPropertyValues("spring.data.redis.host=" + Servers.redis().host(),
				"spring.data.redis.port=" + Servers.redis().port());

	@Test
	@Tag("promise-12")
	void transactionalListenerIsRefusedWithRedis() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(TransactionalListener.class));
		assertThat(analysis.getDescription()).isEqualTo("The idempotent listener "
				+ "IdempotencyRedisAutoConfigurationTests.TransactionalListener.listen is configured for "
				+ "transactional mode, but the store 'redis' does not support transactions.");
		assertThat(analysis.getAction()).startsWith("Use leased mode");
	}

	@Test
	void modeAutoIsLeasedWithRedis() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(AutoListener.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO")).anyMatch((message) -> message.contains("mode LEASED"));
		}
	}

	@Test
	@Tag("promise-7")
	void pendingCompletionIsRecordedAtStopBeforeTheConnectionsClose() {
		RedisProcess server = RedisProcess.create();
		IdempotencyKey key = TestDatabase.newKey();
		this.runner.withPropertyValues("spring.data.redis.port=" + server.port(), "idempotency.store.timeout=500ms",
				// Keeps the circuit open, so that only the stop records the completion.
				"idempotency.circuit-breaker.minimum-number-of-calls=1",
				"idempotency.circuit-breaker.wait-duration-in-open-state=1h")
			.run((context) -> {
				IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
				TestRedis.awaitContact(context.getBean(RedisIdempotencyStore.class));
				assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(
						() -> template.execute(TestDatabase.operation(key, Mode.LEASED), ResultCodec.none(), () -> {
							server.freeze();
							return null;
						}));
				server.resume();
			});
		LettuceConnectionFactory factory = TestRedis.factory(server);
		RedisIdempotencyStore store = new RedisIdempotencyStore(factory, "idempotency:", 0, TestRedis.TIMEOUT);
		TestRedis.awaitContact(store);
		assertThat(one(store).find(key)).get().extracting(IdempotencyRecord::state).isEqualTo(State.COMPLETED);
		factory.destroy();
		server.stop();
	}

	@Test
	@Tag("promise-12")
	void replicasAreRefusedWithAMasterReplicaClient() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues("idempotency.redis.replicas=1",
				"spring.data.redis.masterreplica.nodes=127.0.0.1:1,127.0.0.1:2"));
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.redis.replicas' cannot be combined with 'spring.data.redis.masterreplica.nodes'.");
		assertThat(analysis.getAction())
			.isEqualTo("Remove 'idempotency.redis.replicas', or use Sentinel or a cluster.");
	}

	@Test
	@Tag("promise-12")
	void connectionFactoryOtherThanLettuceIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(OtherFactory.class));
		assertThat(analysis.getDescription())
			.startsWith("The Redis idempotency store requires Lettuce, but the RedisConnectionFactory bean is a ");
		assertThat(analysis.getAction()).startsWith("Set 'spring.data.redis.client-type' to 'lettuce'");
	}

	@Test
	@Tag("promise-12")
	void twoConnectionFactoriesAreRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(TwoFactories.class));
		assertThat(analysis.getDescription()).isEqualTo(
				"There are several RedisConnectionFactory beans for the idempotency store: [firstFactory, secondFactory].");
		assertThat(analysis.getAction())
			.isEqualTo("Set 'idempotency.redis.connection-factory' to one of them, or mark one as @Primary.");
	}

	@Test
	void primaryConnectionFactoryIsUsed() {
		this.runner.withUserConfiguration(OtherFactory.class, PrimaryFactory.class)
			.run((context) -> assertThat(context).hasSingleBean(RedisIdempotencyStore.class));
	}

	@ParameterizedTest
	@ValueSource(strings = { "idempotency.redis.key-prefix=a b", "idempotency.redis.replicas=-1",
			"idempotency.store.timeout=1ms" })
	@Tag("promise-12")
	void invalidSettingIsRefused(String property) {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues(property));
		assertThat(analysis.getAction()).startsWith("Set '" + property.substring(0, property.indexOf('=')) + "' to ");
	}

	@Test
	@Tag("promise-15")
	void evictingServerIsReportedByMeterAndHealthOrRefused() {
		RedisProcess server = RedisProcess.create("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
		ApplicationContextRunner evicting = this.runner.withPropertyValues("spring.data.redis.port=" + server.port());
		evicting.run((context) -> {
			Health health = context.getBean(IdempotencyStoreHealthIndicator.class).health();
			assertThat(health.getStatus()).isEqualTo(Status.UP);
			assertThat(health.getDetails().get("warning")).asString().startsWith("Redis has the memory policy");
			assertThat(context.getBean(MeterRegistry.class).get("idempotency.redis.eviction").gauge().value())
				.isEqualTo(1);
		});
		FailureAnalysis analysis = Contexts
			.failure(evicting.withPropertyValues("idempotency.redis.on-eviction-policy=refuse"));
		assertThat(analysis.getDescription()).startsWith("Redis has the memory policy 'allkeys-lru'");
		assertThat(analysis.getAction()).isEqualTo("Set 'maxmemory-policy' to 'noeviction'.");
		server.stop();
	}

	@Test
	@Tag("promise-15")
	void serverIsCheckedWhenTheApplicationDeclaresTheStoreByItsInterface() {
		RedisProcess server = RedisProcess.create("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(OwnStore.class)
			.withPropertyValues("spring.data.redis.port=" + server.port(),
					"idempotency.redis.on-eviction-policy=refuse"));
		assertThat(analysis.getDescription()).startsWith("Redis has the memory policy 'allkeys-lru'");
		server.stop();
	}

	@Test
	void keyPrefixIsUsedForKeys() {
		this.runner.withPropertyValues("idempotency.redis.key-prefix=shop:").run((context) -> {
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(context.getBean(RedisIdempotencyStore.class)).claim(request);
			String id = request.key().id().toString().replace("-", "");
			try (var connection = context.getBean(RedisConnectionFactory.class).getConnection()) {
				assertThat(connection.keyCommands().exists(("shop:{" + id + "}").getBytes())).isTrue();
			}
		});
	}

	@Test
	void redisStoreHasHealthAndNoCleanup() {
		this.runner.withPropertyValues("idempotency.cleanup.enabled=true").run((context) -> {
			assertThat(context.getBean(IdempotencyStoreHealthIndicator.class).health().getStatus())
				.isEqualTo(Status.UP);
			assertThat(context.getBean("idempotencyStoreCleanup", LifecycleGroup.class).members()).isEmpty();
		});
	}

	@Test
	@Tag("promise-11")
	void applicationStartsWhenRedisIsUnavailable() {
		this.runner.withPropertyValues("spring.data.redis.port=1")
			.withUserConfiguration(AutoListener.class)
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBean(IdempotencyStoreHealthIndicator.class).health().getStatus())
					.isEqualTo(Status.DOWN);
			});
	}

	@Test
	@Tag("promise-11")
	void reconnectDelayIsAtMostOneSecond() {
		this.runner.run((context) -> assertThat(context.getBean(ClientResources.class).reconnectDelay().createDelay(30))
			.isEqualTo(Duration.ofSeconds(1)));
	}

	@Test
	void reconnectDelayOfTheApplicationIsUsed() {
		this.runner
			.withBean(ClientResourcesBuilderCustomizer.class,
					() -> (builder) -> builder.reconnectDelay(Delay.constant(Duration.ofMinutes(1))))
			.run((context) -> assertThat(context.getBean(ClientResources.class).reconnectDelay().createDelay(30))
				.isEqualTo(Duration.ofMinutes(1)));
	}

	@Test
	void reconnectDelayIsUnchangedWhenTheLibraryIsDisabled() {
		this.runner.withPropertyValues("idempotency.enabled=false")
			.run((context) -> assertThat(context).doesNotHaveBean(ClientResourcesBuilderCustomizer.class)
				.doesNotHaveBean(LettuceClientOptionsBuilderCustomizer.class));
	}

	@Test
	@Tag("promise-11")
	void clientOfAClusterFollowsAFailover() {
		this.runner
			.withPropertyValues("spring.data.redis.cluster.nodes=127.0.0.1:1",
					"spring.data.redis.lettuce.cluster.refresh.period=30s")
			.run((context) -> {
				ClusterTopologyRefreshOptions refresh = context.getBean(LettuceConnectionFactory.class)
					.getClientConfiguration()
					.getClientOptions()
					.map(ClusterClientOptions.class::cast)
					.map(ClusterClientOptions::getTopologyRefreshOptions)
					.orElseThrow();
				assertThat(refresh.getAdaptiveRefreshTriggers()).containsExactlyInAnyOrder(RefreshTrigger.values());
				assertThat(refresh.isPeriodicRefreshEnabled()).isTrue();
				assertThat(refresh.getRefreshPeriod()).isEqualTo(Duration.ofSeconds(30));
			});
	}

	@Test
	void topologyRefreshOfTheApplicationIsUsed() {
		this.runner.withPropertyValues("spring.data.redis.lettuce.cluster.refresh.adaptive=false")
			.run((context) -> assertThat(context).doesNotHaveBean(LettuceClientOptionsBuilderCustomizer.class));
	}

	static class TransactionalListener {

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class AutoListener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OwnStore {

		@Bean
		IdempotencyStore ownStore(LettuceConnectionFactory factory) {
			return TestRedis.store(factory, 0);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherFactory {

		@Bean
		RedisConnectionFactory otherFactory() {
			return Mockito.mock(RedisConnectionFactory.class);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryFactory {

		@Bean
		@Primary
		LettuceConnectionFactory primaryFactory() {
			return new LettuceConnectionFactory();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoFactories {

		@Bean
		LettuceConnectionFactory firstFactory() {
			return new LettuceConnectionFactory();
		}

		@Bean
		LettuceConnectionFactory secondFactory() {
			return new LettuceConnectionFactory();
		}

	}

}
