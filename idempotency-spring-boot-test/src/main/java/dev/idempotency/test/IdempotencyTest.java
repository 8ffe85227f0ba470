/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.autoconfigure.OverrideAutoConfiguration;
import org.springframework.boot.test.context.filter.annotation.TypeExcludeFilters;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.core.annotation.AliasFor;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Test slice for idempotent listeners. The context contains
 * <ul>
 * <li>the auto-configurations of {@link AutoConfigureIdempotency}: Kafka, the database or
 * Redis, transactions, migrations, and idempotency,</li>
 * <li>the tools of {@link AutoConfigureIdempotencyTools}: {@link DuplicateDeliveries},
 * {@link RecordedDeliveries} and {@link StoreFaults},</li>
 * <li>of the scanned components, only those with a method that is annotated with
 * {@code @KafkaListener} or {@code @Idempotent}. Import what they call, for example with
 * {@code @Import(Ledger.class)}, or add it with {@link #includeFilters()}.</li>
 * </ul>
 * An embedded broker starts with the context and takes the place of the one that the
 * configuration files of the application name. It needs {@code spring-kafka-test}. The
 * test names another broker with {@code @EmbeddedKafka}, with a
 * {@code KafkaConnectionDetails} bean, or with the property
 * {@code spring.kafka.bootstrap-servers}. The store is the one that the application
 * configures: nothing replaces the data source.
 * <p>
 * The slice sets these properties unless the application or the test sets them: it reads
 * topics from their beginning, fetches records after 100 ms at most, starts three threads
 * for each listener, and does not delete expired records; a lease takes ten seconds, and
 * an open circuit breaker permits calls after 200 ms.
 * <p>
 * Tests are not transactional, because a listener has its own transactions.
 *
 * @since 0.1.0
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(IdempotencyTestContextBootstrapper.class)
@ExtendWith(SpringExtension.class)
@OverrideAutoConfiguration(enabled = false)
@TypeExcludeFilters(IdempotencyTypeExcludeFilter.class)
@AutoConfigureIdempotency
@AutoConfigureIdempotencyTools
@ImportAutoConfiguration
public @interface IdempotencyTest {

	/**
	 * Properties in the form {@literal key=value} that are added to the environment
	 * before the test runs. They take precedence over those of the application.
	 * @return the properties
	 */
	String[] properties() default {};

	/**
	 * Whether listeners are included without a filter that names them.
	 * @return {@code false} to include only what {@link #includeFilters()} selects
	 */
	boolean useDefaultFilters() default true;

	/**
	 * Filters that select further components.
	 * @return the filters
	 */
	Filter[] includeFilters() default {};

	/**
	 * Filters that remove components.
	 * @return the filters
	 */
	Filter[] excludeFilters() default {};

	/**
	 * Auto-configurations that are left out.
	 * @return the classes
	 */
	@AliasFor(annotation = ImportAutoConfiguration.class, attribute = "exclude")
	Class<?>[] excludeAutoConfiguration() default {};

}
