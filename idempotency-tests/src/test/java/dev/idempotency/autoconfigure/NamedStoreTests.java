/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.Map;

import javax.sql.DataSource;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.actuate.IdempotencyEndpoint;
import dev.idempotency.actuate.IdempotencyStoreHealthIndicator;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.migration.MigratingStore;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code idempotency.stores} and the store of a listener.
 */
class NamedStoreTests {

	private static final String JDBC = "idempotency.store.type=jdbc";

	private static final String GATEWAY = "idempotency.stores.gateway.type=redis";

	private final ApplicationContextRunner both = Contexts.all()
		.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
		.withPropertyValues("spring.data.redis.host=" + Servers.redis().host(),
				"spring.data.redis.port=" + Servers.redis().port());

	@Test
	void listenersOfOneApplicationUseTheirStores() {
		try (Logs logs = new Logs()) {
			this.both.withPropertyValues(JDBC, GATEWAY).withUserConfiguration(TwoListeners.class).run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(logs.messages("INFO"))
					.anyMatch((message) -> message.contains("TwoListeners.charge")
							&& message.contains("mode TRANSACTIONAL") && message.contains("store 'jdbc'"))
					.anyMatch((message) -> message.contains("TwoListeners.call") && message.contains("mode LEASED")
							&& message.contains("store 'gateway'"));
			});
		}
	}

	@Test
	@Tag("promise-13")
	void beansOfTheDefaultStoreStayTheOnlyCandidates() {
		this.both.withPropertyValues(JDBC, GATEWAY).withUserConfiguration(Injections.class).run((context) -> {
			Injections injections = context.getBean(Injections.class);
			assertThat(injections.store).isInstanceOf(JdbcIdempotencyStore.class);
			assertThat(injections.template.store()).isSameAs(injections.store);
			assertThat(injections.gateway.store()).isInstanceOf(RedisIdempotencyStore.class);
			assertThat(injections.gateway.name()).isEqualTo("gateway");
		});
	}

	@Test
	void eachStoreHasHealthMetersAndAViewOfItsRecords() {
		this.both.withPropertyValues(JDBC, GATEWAY, "management.endpoints.web.exposure.include=idempotency")
			.run((context) -> {
				IdempotencyTemplate gateway = context.getBean("gatewayIdempotencyTemplate", IdempotencyTemplate.class);
				gateway.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), ResultCodec.none(),
						() -> null);
				assertThat(
						context.getBean(MeterRegistry.class).get("idempotency.store").tag("store", "gateway").timers())
					.isNotEmpty();
				Health health = context.getBean(IdempotencyStoreHealthIndicator.class).health();
				assertThat(health.getStatus()).isEqualTo(Status.UP);
				assertThat(health.getDetails()).containsOnlyKeys("jdbc", "gateway");
				IdempotencyEndpoint endpoint = context.getBean(IdempotencyEndpoint.class);
				assertThat(endpoint.overview(null).store()).isEqualTo("jdbc");
				assertThat(endpoint.overview("gateway").scopes()).isNotEmpty();
				assertThat(endpoint.overview("gateway").stores()).containsExactly("jdbc", "gateway");
			});
	}

	@Test
	@Tag("promise-11")
	void outageOfOneStoreIsShownForThisStore() {
		this.both.withPropertyValues(JDBC, GATEWAY, "spring.data.redis.port=1").run((context) -> {
			Health health = context.getBean(IdempotencyStoreHealthIndicator.class).health();
			assertThat(health.getStatus()).isEqualTo(Status.DOWN);
			assertThat(((Map<?, ?>) health.getDetails().get("jdbc")).get("status")).isEqualTo("UP");
			assertThat(((Map<?, ?>) health.getDetails().get("gateway")).get("status")).isEqualTo("DOWN");
		});
	}

	@Test
	void storesInTwoDatabasesHaveTheirOwnTransactionsAndCleanup() {
		Contexts.all()
			.withUserConfiguration(SecondDatabase.class)
			.withPropertyValues("idempotency.jdbc.data-source=dataSource",
					"idempotency.stores.second.jdbc.data-source=secondDataSource",
					"idempotency.stores.second.timeout=1s", "idempotency.cleanup.enabled=true")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				IdempotencyTemplate second = context.getBean("secondIdempotencyTemplate", IdempotencyTemplate.class);
				assertThat(second.transactionManager()).isSameAs(context.getBean("secondTransactionManager"));
				assertThat(((JdbcIdempotencyStore) second.store()).dataSource())
					.isSameAs(context.getBean("secondDataSource"));
				assertThat(context.getBean("idempotencyStoreCleanup", LifecycleGroup.class).members()).hasSize(2);
			});
	}

	@Test
	@Tag("promise-3")
	void storesShareNoCache() {
		Contexts.inMemory()
			.withPropertyValues("idempotency.stores.other.type=in-memory", "idempotency.cache.enabled=true")
			.run((context) -> {
				IdempotencyTemplate first = context.getBean(IdempotencyTemplate.class);
				IdempotencyTemplate other = context.getBean("otherIdempotencyTemplate", IdempotencyTemplate.class);
				var operation = TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
				assertThat(first.execute(operation, ResultCodec.none(), () -> null).duplicate()).isFalse();
				assertThat(other.execute(operation, ResultCodec.none(), () -> null).duplicate()).isFalse();
				assertThat(other.execute(operation, ResultCodec.none(), () -> null).duplicate()).isTrue();
			});
	}

	@Test
	@Tag("promise-12")
	void unknownStoreOfAListenerIsRefused() {
		FailureAnalysis analysis = Contexts.failure(Contexts.inMemory().withUserConfiguration(TwoListeners.class));
		assertThat(analysis.getDescription())
			.isEqualTo("The idempotent listener NamedStoreTests.TwoListeners.call uses "
					+ "the store 'gateway', which does not exist.");
		assertThat(analysis.getAction()).startsWith("Define 'idempotency.stores.gateway.type'");
	}

	@Test
	void listenerUsesATemplateOfTheApplication() {
		Contexts.inMemory()
			.withUserConfiguration(OwnTemplate.class, TwoListeners.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@ParameterizedTest
	@ValueSource(strings = { "idempotency.stores.default.type", "idempotency.stores.[a b].type" })
	@Tag("promise-12")
	void unusableNameIsRefused(String property) {
		FailureAnalysis analysis = Contexts.failure(Contexts.inMemory().withPropertyValues(property + "=redis"));
		assertThat(analysis.getDescription()).startsWith("'idempotency.stores' contains the name '");
	}

	@Test
	@Tag("promise-12")
	void nameOfTheDefaultStoreIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.both.withPropertyValues(JDBC, "idempotency.stores.jdbc.type=redis"));
		assertThat(analysis.getDescription()).startsWith("'idempotency.stores' contains the name '");
	}

	@Test
	@Tag("promise-12")
	void unknownTypeIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(Contexts.inMemory().withPropertyValues("idempotency.stores.other.type=mongo"));
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.stores.other.type' is 'mongo', but there is no such type of store.");
		assertThat(analysis.getAction()).contains("in-memory");
	}

	@Test
	@Tag("promise-12")
	void storeWithUnknownPropertiesIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(Contexts.inMemory().withPropertyValues("idempotency.stores.other.typ=redis"));
		assertThat(analysis.getDescription()).isEqualTo("'idempotency.stores.other' contains no property of a store.");
	}

	@ParameterizedTest
	@CsvSource({ "jdbc,jdbc.table,idempotency.stores.other.jdbc.table=public.idempotency_record",
			"redis,redis.key-prefix,idempotency.stores.other.timeout=1s" })
	@Tag("promise-12")
	void storesWithTheSameRecordsAreRefused(String type, String property, String setting) {
		FailureAnalysis analysis = Contexts.failure(this.both.withPropertyValues("idempotency.store.type=" + type,
				"idempotency.stores.other.type=" + type, setting));
		assertThat(analysis.getDescription()).startsWith("The stores 'default' and 'other' have the same records");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.stores.other." + property + "'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "missing", "gateway" })
	@Tag("promise-12")
	void migrationFromAnUnusableStoreIsRefused(String source) {
		FailureAnalysis analysis = Contexts
			.failure(this.both.withPropertyValues(JDBC, GATEWAY, "idempotency.stores.gateway.migrate-from=" + source));
		assertThat(analysis.getDescription())
			.startsWith("The store 'gateway' migrates from the store '" + source + "'");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.stores.gateway.migrate-from' to the name");
	}

	@Test
	@Tag("promise-12")
	void circularMigrationIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.both.withPropertyValues(JDBC, GATEWAY,
				"idempotency.stores.gateway.migrate-from=default", "idempotency.store.migrate-from=gateway"));
		assertThat(analysis.getDescription()).contains("which migrates from it");
	}

	@Test
	void migrationKeepsTheModeAndTheBeanOfTheStore() {
		this.both.withPropertyValues(JDBC, GATEWAY, "idempotency.store.migrate-from=gateway").run((context) -> {
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			assertThat(template.supportsTransactions()).isTrue();
			assertThat(template.name()).isEqualTo("jdbc");
			assertThat(template.store()).isInstanceOf(MigratingStore.class);
			assertThat(context.getBean(IdempotencyStore.class)).isInstanceOf(JdbcIdempotencyStore.class);
		});
	}

	@Test
	void keysMoveToAStoreOfTheApplication() {
		this.both.withPropertyValues(GATEWAY, "idempotency.store.migrate-from=gateway")
			.withBean("own", InMemoryIdempotencyStore.class)
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).store())
				.isInstanceOf(MigratingStore.class));
	}

	@Test
	@Tag("promise-15")
	void migrationOfATemplateOfTheApplicationIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.both
			.withPropertyValues(JDBC, GATEWAY, "idempotency.store.migrate-from=gateway")
			.withBean("own", IdempotencyTemplate.class, () -> new IdempotencyTemplate(new InMemoryIdempotencyStore(),
					new IdempotencyTemplate.Settings(null, false, Observers.none()))));
		assertThat(analysis.getDescription()).contains("declares its own IdempotencyTemplate bean");
	}

	@Test
	@Tag("promise-12")
	void offsetsAreRefusedWhenTheOldStoreHasNoMarks() {
		FailureAnalysis analysis = Contexts.failure(
				this.both
					.withPropertyValues(JDBC, GATEWAY, "idempotency.store.migrate-from=gateway",
							"idempotency.key.on-missing=offset")
					.withUserConfiguration(DefaultListener.class));
		assertThat(analysis.getDescription())
			.endsWith("the store 'jdbc' has no marks of offsets, or the store from which its keys move has none.");
	}

	@Test
	@Tag("promise-12")
	void namesThatAnEnvironmentVariableCannotDistinguishAreRefused() {
		FailureAnalysis analysis = Contexts.failure(Contexts.inMemory()
			.withPropertyValues("idempotency.stores.old-keys.type=redis", "idempotency.stores.oldkeys.timeout=1s"));
		assertThat(analysis.getDescription()).contains("differ by hyphens or case only");
	}

	@Test
	void cleanupOfTheApplicationReplacesThatOfTheDefaultStoreOnly() {
		this.both
			.withPropertyValues(JDBC, "idempotency.stores.other.type=jdbc", "idempotency.stores.other.jdbc.table=other",
					"idempotency.cleanup.enabled=true")
			.withUserConfiguration(OwnCleanup.class)
			.run((context) -> assertThat(context.getBean("idempotencyStoreCleanup", LifecycleGroup.class).members())
				.hasSize(1));
	}

	@Test
	@Tag("promise-12")
	void retentionOfMoreThanAHundredYearsIsRefused() {
		FailureAnalysis analysis = Contexts.failure(Contexts.inMemory()
			.withPropertyValues("idempotency.stores.gateway.type=in-memory", "idempotency.retention=3000000d")
			.withUserConfiguration(TwoListeners.class));
		assertThat(analysis.getAction()).startsWith("Set it to a hundred years");
	}

	@Configuration(proxyBeanMethods = false)
	static class OwnCleanup {

		@Bean
		CleanupJob ownCleanup() {
			return new CleanupJob(new InMemoryIdempotencyStore(),
					new CleanupJob.Settings(Duration.ofHours(1), Duration.ofMinutes(1), 100, Duration.ZERO),
					Observers.none());
		}

	}

	static class DefaultListener {

		@Idempotent
		@KafkaListener(topics = "charges", groupId = "ledger")
		void charge(String value) {
		}

	}

	static class TwoListeners {

		@Idempotent
		@KafkaListener(topics = "charges", groupId = "ledger")
		void charge(String value) {
		}

		@Idempotent(store = "gateway")
		@KafkaListener(topics = "calls", groupId = "ledger")
		void call(String value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(TwoListeners.class)
	static class OwnTemplate {

		@Bean(defaultCandidate = false)
		IdempotencyTemplate gateway() {
			return new IdempotencyTemplate(new InMemoryIdempotencyStore(),
					new IdempotencyTemplate.Settings(null, false, Observers.none()));
		}

	}

	static class Injections {

		private final IdempotencyStore store;

		private final IdempotencyTemplate template;

		private final IdempotencyTemplate gateway;

		Injections(IdempotencyStore store, IdempotencyTemplate template,
				@Qualifier("gateway") IdempotencyTemplate gateway) {
			this.store = store;
			this.template = template;
			this.gateway = gateway;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SecondDatabase {

		@Bean
		DataSource dataSource() {
			return Servers.pool(Servers.newDatabase());
		}

		@Bean
		DataSource secondDataSource() {
			return Servers.pool(Servers.newDatabase());
		}

		@Bean
		JdbcTransactionManager transactionManager(@Qualifier("dataSource") DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		JdbcTransactionManager secondTransactionManager(@Qualifier("secondDataSource") DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

}
