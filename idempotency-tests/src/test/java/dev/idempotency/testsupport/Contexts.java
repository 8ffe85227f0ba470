/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.core.env.Environment;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.ArgumentResolver;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

/**
 * Contexts whose listener containers do not start, for tests of their wiring.
 */
public final class Contexts {

	private static final Supplier<String> DATABASE = SingletonSupplier.of(() -> Servers.newDatabase());

	private static final List<Class<?>> BOOT = List.of(AopAutoConfiguration.class, DataSourceAutoConfiguration.class,
			DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
			TransactionAutoConfiguration.class, FlywayAutoConfiguration.class, KafkaAutoConfiguration.class,
			JacksonAutoConfiguration.class, MetricsAutoConfiguration.class, SimpleMetricsExportAutoConfiguration.class);

	private Contexts() {
	}

	/**
	 * Create a runner with Boot's auto-configurations and a real database.
	 * @return the runner
	 */
	public static ApplicationContextRunner boot() {
		return with(BOOT);
	}

	/**
	 * Create a runner with Boot's auto-configurations and those of the library.
	 * @return the runner
	 */
	public static ApplicationContextRunner all() {
		return with(Stream.concat(BOOT.stream(), autoConfigurations()).toList());
	}

	/**
	 * Create a runner with the in-memory store and without a database, for tests in which
	 * the store does not matter: it starts in a third of the time.
	 * @return the runner
	 */
	public static ApplicationContextRunner inMemory() {
		List<Class<?>> some = List.of(AopAutoConfiguration.class, KafkaAutoConfiguration.class,
				JacksonAutoConfiguration.class);
		return new ApplicationContextRunner(CachingContext::new)
			.withConfiguration(
					AutoConfigurations.of(Stream.concat(some.stream(), autoConfigurations()).toArray(Class<?>[]::new)))
			.withPropertyValues("idempotency.store.type=in-memory", "spring.kafka.listener.auto-startup=false");
	}

	/**
	 * Create a runner without some auto-configurations.
	 * @param classes the auto-configurations that are left out
	 * @return the runner
	 */
	public static ApplicationContextRunner without(Class<?>... classes) {
		List<Class<?>> left = new ArrayList<>(BOOT);
		left.addAll(autoConfigurations().toList());
		left.removeAll(List.of(classes));
		return with(left);
	}

	private static ApplicationContextRunner with(List<Class<?>> autoConfigurations) {
		return new ApplicationContextRunner(CachingContext::new)
			.withConfiguration(AutoConfigurations.of(autoConfigurations.toArray(Class<?>[]::new)))
			.withPropertyValues("spring.datasource.url=" + DATABASE.get() + "?socketTimeout=60",
					"spring.datasource.username=" + Servers.postgres().username(),
					"spring.datasource.password=" + Servers.postgres().password(),
					"spring.datasource.hikari.minimum-idle=0", "spring.flyway.enabled=false",
					"spring.kafka.listener.auto-startup=false", "idempotency.cleanup.enabled=false");
	}

	/**
	 * Return the auto-configurations of the library, as Boot finds them.
	 * @return the classes
	 */
	public static Stream<Class<?>> autoConfigurations() {
		return ImportCandidates.load(AutoConfiguration.class, null)
			.getCandidates()
			.stream()
			.filter((name) -> name.startsWith("dev.idempotency."))
			.map((name) -> ClassUtils.resolveClassName(name, null));
	}

	/**
	 * Run an application that does not start.
	 * @param runner the application
	 * @return the description and the action
	 */
	public static FailureAnalysis failure(ApplicationContextRunner runner) {
		Throwable[] failure = new Throwable[1];
		runner.run((context) -> failure[0] = context.getStartupFailure());
		return analyze(failure[0]);
	}

	/**
	 * Analyze a failure with the failure analyzers of the library, as Boot finds them.
	 * @param failure the failure of a start
	 * @return the description and the action
	 */
	public static FailureAnalysis analyze(@Nullable Throwable failure) {
		if (failure == null) {
			throw new AssertionError("The application has started");
		}
		List<FailureAnalyzer> analyzers = SpringFactoriesLoader.forDefaultResourceLocation(null)
			.load(FailureAnalyzer.class, ArgumentResolver.of(Environment.class, new StandardEnvironment()),
					FailureHandler.handleMessage((message, ex) -> {
					}));
		return analyzers.stream()
			.filter((analyzer) -> analyzer.getClass().getName().startsWith("dev.idempotency."))
			.flatMap((analyzer) -> Stream.ofNullable(analyzer.analyze(failure)))
			.findFirst()
			.orElseThrow(() -> new AssertionError("No analyzer explains it", failure));
	}

}
