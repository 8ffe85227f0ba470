/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.ArgumentResolver;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.mock.env.MockEnvironment;

import dev.idempotency.Idempotent;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the selection of the store.
 */
class StoreChoiceTests {

	private static final String REDIS = "idempotency.store.type=redis";

	private static final String JDBC = "idempotency.store.type=jdbc";

	private String database;

	private JdbcTemplate jdbc;

	private ApplicationContextRunner both;

	private ApplicationContextRunner onlyRedis;

	@BeforeEach
	void createRunners() {
		this.database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(this.database);
		this.both = withRedis(Contexts.all());
		this.onlyRedis = withRedis(Contexts.without(DataSourceAutoConfiguration.class));
	}

	private ApplicationContextRunner withRedis(ApplicationContextRunner runner) {
		return runner.withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
			.withPropertyValues("spring.datasource.url=" + this.database,
					"spring.data.redis.host=" + Servers.redis().host(),
					"spring.data.redis.port=" + Servers.redis().port());
	}

	private long tables() {
		return this.jdbc.queryForList("SELECT FROM information_schema.tables WHERE table_schema = 'public'").size();
	}

	@Test
	void redisIsSelectedWhenItIsTheOnlyCandidate() {
		this.onlyRedis.run((context) -> {
			assertThat(context.getBean(IdempotencyTemplate.class).store()).isInstanceOf(RedisIdempotencyStore.class);
			assertThat(context.getBean(IdempotencyTemplate.class).supportsTransactions()).isFalse();
		});
	}

	@Test
	void redisIsSelectedByThePropertyAndTheDatabaseIsUnchanged() {
		this.both.withPropertyValues(REDIS)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyStore.class)
				.hasSingleBean(RedisIdempotencyStore.class));
		assertThat(tables()).isZero();
	}

	@Test
	void databaseIsSelectedByTheProperty() {
		this.both.withPropertyValues(JDBC)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyStore.class)
				.hasSingleBean(JdbcIdempotencyStore.class));
	}

	@Test
	@Tag("promise-12")
	void twoCandidatesAreRefusedBeforeTheMigration() {
		FailureAnalysis analysis = Contexts.failure(this.both);
		assertThat(analysis.getDescription()).isEqualTo(
				"There are several candidates for the idempotency store: a DataSource and a RedisConnectionFactory.");
		assertThat(analysis.getAction()).isEqualTo("Set 'idempotency.store.type' to 'jdbc' or 'redis'.");
		assertThat(tables()).isZero();
	}

	@Test
	@Tag("promise-12")
	void selectedRedisIsRefusedWhenItIsMissing() {
		FailureAnalysis analysis = Contexts
			.failure(Contexts.all().withPropertyValues(REDIS).withUserConfiguration(AutoListener.class));
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.store.type' is 'redis', but there is no RedisConnectionFactory bean of Lettuce.");
		assertThat(analysis.getAction()).startsWith("Add 'spring-boot-starter-data-redis'");
	}

	@Test
	@Tag("promise-12")
	void selectedDatabaseIsRefusedWhenItIsMissing() {
		FailureAnalysis analysis = Contexts
			.failure(this.onlyRedis.withPropertyValues(JDBC).withUserConfiguration(AutoListener.class));
		assertThat(analysis.getDescription()).isEqualTo(
				"'idempotency.store.type' is 'jdbc', but there is no DataSource bean, or Spring JDBC is missing.");
		assertThat(analysis.getAction()).startsWith("Add 'spring-boot-starter-jdbc'");
	}

	@Test
	@Tag("promise-12")
	void unconfiguredDataSourceIsExplainedWhenRedisIsSelected() {
		this.both.withClassLoader(new FilteredClassLoader("org.h2"))
			.withPropertyValues(REDIS, "spring.datasource.url=")
			.run((context) -> {
				FailureAnalysis analysis = firstAnalysis(context.getStartupFailure(), "redis");
				assertThat(analysis.getDescription())
					.startsWith("'idempotency.store.type' is 'redis' and no database is configured");
				assertThat(analysis.getAction()).contains("'idempotency-spring-boot-starter-redis'",
						"'spring.datasource.url'");
				assertThat(firstAnalysis(context.getStartupFailure(), "jdbc").getDescription())
					.startsWith("Failed to configure a DataSource");
			});
	}

	// Spring Boot calls the analyzers in this way.
	private static FailureAnalysis firstAnalysis(Throwable failure, String type) {
		Environment environment = new MockEnvironment().withProperty("idempotency.store.type", type);
		return SpringFactoriesLoader.forDefaultResourceLocation(null)
			.load(FailureAnalyzer.class, ArgumentResolver.of(Environment.class, environment),
					FailureHandler.handleMessage((message, ex) -> {
					}))
			.stream()
			.flatMap((analyzer) -> analysis(analyzer, failure))
			.findFirst()
			.orElseThrow();
	}

	// Like Spring Boot, skips analyzers for classes that are not on the class path.
	private static Stream<FailureAnalysis> analysis(FailureAnalyzer analyzer, Throwable failure) {
		try {
			return Stream.ofNullable(analyzer.analyze(failure));
		}
		catch (NoClassDefFoundError ex) {
			return Stream.empty();
		}
	}

	@Test
	void storeOfTheApplicationIsUsed() {
		this.both.withUserConfiguration(UsersStore.class, AutoListener.class)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyStore.class).hasBean("usersStore"));
	}

	@Test
	@Tag("promise-13")
	void storeOfTheApplicationIsUsedWhenItHasTheTypeAndNameOfALibraryStore() {
		this.both.withUserConfiguration(UsersJdbcStore.class)
			.run((context) -> assertThat(context).hasSingleBean(JdbcIdempotencyStore.class)
				.doesNotHaveBean(RedisIdempotencyStore.class));
		this.both.withUserConfiguration(UsersRedisStore.class)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyStore.class).hasBean("usersStore"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "org.springframework.data.redis", "io.lettuce" })
	void applicationWithoutRedisStarts(String missing) {
		Contexts.all()
			.withClassLoader(new FilteredClassLoader(missing))
			.run((context) -> assertThat(context).hasSingleBean(JdbcIdempotencyStore.class)
				.doesNotHaveBean("redisIdempotencyStoreFactory"));
	}

	@Test
	void applicationWithoutSpringJdbcStarts() {
		this.both.withClassLoader(new FilteredClassLoader("org.springframework.jdbc"))
			.run((context) -> assertThat(context).hasSingleBean(RedisIdempotencyStore.class));
	}

	static class AutoListener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersStore {

		@Bean
		IdempotencyStore usersStore() {
			return Mockito.mock(IdempotencyStore.class);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersJdbcStore {

		@Bean
		JdbcIdempotencyStore jdbcIdempotencyStore(DataSource dataSource) {
			return new JdbcIdempotencyStore(dataSource, "users", Duration.ofSeconds(1));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersRedisStore {

		@Bean
		RedisIdempotencyStore usersStore(LettuceConnectionFactory factory) {
			return new RedisIdempotencyStore(factory, "users:", 0, Duration.ofSeconds(1));
		}

	}

}
