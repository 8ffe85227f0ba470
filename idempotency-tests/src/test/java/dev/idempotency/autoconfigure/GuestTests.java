/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;

import javax.sql.DataSource;

import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.function.SingletonSupplier;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the library replaces no bean of the application or of Spring Boot.
 */
@Tag("promise-13")
@Order(3)
class GuestTests {

	private static final List<Class<?>> TYPES = List.of(RecordInterceptor.class, BatchInterceptor.class,
			RecordFilterStrategy.class, CommonErrorHandler.class, ObjectMapper.class, TransactionTemplate.class,
			PlatformTransactionManager.class, TaskScheduler.class, Clock.class, Flyway.class, DataSource.class);

	private static final Supplier<Set<String>> BOOT = SingletonSupplier.of(() -> allNames(Contexts.boot()));

	@Test
	void beansOfSpringBootAreUnchanged() {
		assertThat(names(Contexts.all())).isEqualTo(names(Contexts.boot()));
	}

	@Test
	void beansOfTheApplicationAreUnchanged() {
		Map<Class<?>, Set<String>> names = names(Contexts.all().withUserConfiguration(Beans.class));
		assertThat(names.values()).noneMatch(Set::isEmpty);
		assertThat(names).isEqualTo(names(Contexts.boot().withUserConfiguration(Beans.class)));
	}

	@Test
	void everyBeanOfTheLibraryHasAnOwnNameAndType() {
		Contexts.all().run((context) -> {
			Set<String> added = new TreeSet<>(Set.of(context.getBeanDefinitionNames()));
			added.removeAll(BOOT.get());
			assertThat(added).isNotEmpty()
				.allMatch((name) -> context.getType(name).getName().startsWith("dev.idempotency."));
		});
	}

	@Test
	void disabledLibraryHasNoBeans() {
		ApplicationContextRunner disabled = Contexts.all().withPropertyValues("idempotency.enabled=false");
		assertThat(allNames(disabled)).isEqualTo(BOOT.get());
	}

	@Test
	void disabledLibraryRegistersNoProxyCreator() {
		ApplicationContextRunner runner = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(Contexts.autoConfigurations().toArray(Class<?>[]::new)));
		String creator = "org.springframework.aop.config.internalAutoProxyCreator";
		assertThat(allNames(runner)).contains(creator);
		assertThat(allNames(runner.withPropertyValues("idempotency.enabled=false"))).doesNotContain(creator);
	}

	private static Map<Class<?>, Set<String>> names(ApplicationContextRunner runner) {
		Map<Class<?>, Set<String>> names = new LinkedHashMap<>();
		runner.run((context) -> {
			assertThat(context).hasNotFailed();
			TYPES.forEach((type) -> names.put(type, Set.of(context.getBeanNamesForType(type))));
		});
		return names;
	}

	private static Set<String> allNames(ApplicationContextRunner runner) {
		Set<String> names = new TreeSet<>();
		runner.run((context) -> {
			assertThat(context).hasNotFailed();
			names.addAll(Set.of(context.getBeanDefinitionNames()));
		});
		return names;
	}

	@Configuration(proxyBeanMethods = false)
	static class Beans {

		@Bean
		RecordInterceptor<Object, Object> userRecordInterceptor() {
			return (record, consumer) -> record;
		}

		@Bean
		BatchInterceptor<Object, Object> userBatchInterceptor() {
			return (records, consumer) -> records;
		}

		@Bean
		RecordFilterStrategy<Object, Object> userFilter() {
			return (record) -> false;
		}

		@Bean
		DefaultErrorHandler userErrorHandler() {
			return new DefaultErrorHandler();
		}

		@Bean
		JsonMapper userMapper() {
			return new JsonMapper();
		}

		@Bean
		TransactionTemplate userTemplate(PlatformTransactionManager manager) {
			return new TransactionTemplate(manager);
		}

		@Bean
		TaskScheduler userScheduler() {
			return new SimpleAsyncTaskScheduler();
		}

		@Bean
		Clock userClock() {
			return Clock.systemUTC();
		}

		@Bean
		Flyway userFlyway(DataSource dataSource) {
			return Flyway.configure().dataSource(dataSource).load();
		}

	}

}
