/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Map;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.SystemEnvironmentPropertySource;

import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyMemoryAutoConfiguration}.
 */
class IdempotencyMemoryAutoConfigurationTests {

	private final ApplicationContextRunner withoutDatabase = Contexts.without(DataSourceAutoConfiguration.class);

	private final ApplicationContextRunner runner = Contexts.all()
		.withPropertyValues("idempotency.store.type=in-memory");

	@Test
	void storeIsUsedWhenThePropertyNamesIt() {
		this.withoutDatabase.withPropertyValues("idempotency.store.type=in-memory")
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).store())
				.isInstanceOf(InMemoryIdempotencyStore.class));
	}

	@Test
	void storeIsUsedWhenAnEnvironmentVariableNamesIt() {
		Map<String, Object> environment = Map.of("IDEMPOTENCY_STORE_TYPE", "IN_MEMORY");
		this.withoutDatabase
			.withInitializer((context) -> context.getEnvironment()
				.getPropertySources()
				.addFirst(new SystemEnvironmentPropertySource("test-systemEnvironment", environment)))
			.run((context) -> assertThat(context).hasSingleBean(InMemoryIdempotencyStore.class));
	}

	@Test
	@Tag("promise-12")
	void unknownStoreIsRefused() {
		this.runner.withPropertyValues("idempotency.store.type=cassandra")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("cassandra"));
	}

	@Test
	void storeIsUsedInsteadOfTheDatabase() {
		this.runner.run((context) -> {
			assertThat(context).hasSingleBean(IdempotencyStore.class).hasSingleBean(InMemoryIdempotencyStore.class);
			assertThat(context.getBean(IdempotencyTemplate.class).supportsTransactions()).isFalse();
		});
	}

	@Test
	@Tag("promise-12")
	void storeIsNotUsedWithoutTheProperty() {
		this.withoutDatabase.run((context) -> assertThat(context).doesNotHaveBean(IdempotencyStore.class));
		Contexts.all().run((context) -> assertThat(context).doesNotHaveBean(InMemoryIdempotencyStore.class));
	}

	@Test
	@Tag("promise-12")
	void startUpWarnsThatRecordsAreLost() {
		try (Logs logs = new Logs()) {
			this.runner.run((context) -> assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("lost when this process ends", "other instances do not see them", "for tests only"));
		}
	}

	@Test
	void cleanupJobIsPresentWhenEnabled() {
		this.runner.withPropertyValues("idempotency.cleanup.enabled=true")
			.run((context) -> assertThat(context).satisfies(
					(started) -> assertThat(started.getBean("idempotencyStoreCleanup", LifecycleGroup.class).members())
						.hasSize(1)));
	}

	@Test
	void storeOfTheApplicationIsUsed() {
		this.runner.withUserConfiguration(UsersStore.class).run((context) -> {
			assertThat(context).hasSingleBean(IdempotencyStore.class);
			assertThat(context.getBean(IdempotencyTemplate.class).store()).isSameAs(context.getBean("usersStore"));
		});
	}

	@Test
	@Tag("promise-13")
	void storeIsAbsentWhenTheLibraryIsDisabled() {
		this.runner.withPropertyValues("idempotency.enabled=false")
			.run((context) -> assertThat(context).doesNotHaveBean(IdempotencyStore.class));
	}

	@Configuration(proxyBeanMethods = false)
	static class UsersStore {

		@Bean
		IdempotencyStore usersStore() {
			return new InMemoryIdempotencyStore();
		}

	}

}
