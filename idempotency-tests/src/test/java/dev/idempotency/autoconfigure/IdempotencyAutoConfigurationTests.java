/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;

import javax.sql.DataSource;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.StoredOutcomeTransformer;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link IdempotencyAutoConfiguration}.
 */
class IdempotencyAutoConfigurationTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void templateUsesTheStoreAndItsTransactionManager() {
		this.runner.run((context) -> {
			assertThat(context.getBean(IdempotencyTemplate.class).store())
				.isSameAs(context.getBean(JdbcIdempotencyStore.class));
			assertThat(context.getBean(IdempotencyTemplate.class).supportsTransactions()).isTrue();
		});
	}

	@Test
	void templateOfTheApplicationIsUsed() {
		this.runner.withUserConfiguration(UsersTemplate.class)
			.run((context) -> assertThat(context).hasSingleBean(IdempotencyTemplate.class).hasBean("usersTemplate"));
	}

	@Test
	void storeOfTheApplicationIsUsed() {
		this.runner.withUserConfiguration(UsersStore.class).run((context) -> {
			assertThat(context).hasSingleBean(IdempotencyStore.class).hasSingleBean(IdempotencyTemplate.class);
			assertThat(context.getBean(IdempotencyTemplate.class).store()).isSameAs(context.getBean("usersStore"));
		});
	}

	@Test
	@Tag("promise-12")
	void twoStoresAreRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withUserConfiguration(UsersStore.class, SecondStore.class));
		assertThat(analysis.getDescription())
			.isEqualTo("There are several IdempotencyStore beans: [usersStore, secondStore].");
		assertThat(analysis.getAction()).startsWith("Keep one of them, mark one as @Primary");
	}

	@Test
	@Tag("promise-12")
	void severalTransformersAreRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner
			.withBean("first", StoredOutcomeTransformer.class, () -> mock(StoredOutcomeTransformer.class))
			.withBean("second", StoredOutcomeTransformer.class, () -> mock(StoredOutcomeTransformer.class)));
		assertThat(analysis.getDescription())
			.isEqualTo("There are several StoredOutcomeTransformer beans: [first, second].");
		assertThat(analysis.getAction()).startsWith("Keep one of them");
	}

	@Test
	@Tag("promise-12")
	void listenerIsRefusedWithoutAStore() {
		FailureAnalysis analysis = Contexts
			.failure(Contexts.without(DataSourceAutoConfiguration.class).withUserConfiguration(Listener.class));
		assertThat(analysis.getDescription())
			.isEqualTo("The application has idempotent listeners, but no idempotency store.");
		assertThat(analysis.getAction()).contains("'spring-boot-starter-jdbc'", "IdempotencyStore bean");
	}

	@Test
	@Tag("promise-12")
	void missingKeyPolicyDefaultIsRefusedAsAProperty() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues("idempotency.key.on-missing=default")
			.withUserConfiguration(Listener.class));
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.key.on-missing' is 'default', which is valid for listeners only.");
		assertThat(analysis.getAction()).contains("'offset', 'record-coordinates', 'reject' or 'process'");
	}

	static class Listener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersTemplate {

		@Bean
		IdempotencyTemplate usersTemplate(IdempotencyStore store) {
			return new IdempotencyTemplate(store, new Settings(null, false, Observers.none()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersStore {

		@Bean
		IdempotencyStore usersStore(DataSource dataSource) {
			return new JdbcIdempotencyStore(dataSource, "users", Duration.ofSeconds(1));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SecondStore {

		@Bean
		IdempotencyStore secondStore(DataSource dataSource) {
			return new JdbcIdempotencyStore(dataSource, "second", Duration.ofSeconds(1));
		}

	}

}
