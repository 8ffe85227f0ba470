/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Map;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for a store whose {@link DataSource} selects its database by thread.
 */
@Tag("promise-2")
@Tag("promise-12")
class RoutingDataSourceTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@ParameterizedTest
	@ValueSource(classes = { Routing.class, LazyRouting.class, ProxiedRouting.class })
	void leasedListenerIsRefusedWithARoutingDataSource(Class<?> dataSource) {
		this.runner.withUserConfiguration(dataSource, Listener.class)
			.withPropertyValues("idempotency.mode=leased")
			.run((context) -> {
				FailureAnalysis analysis = Contexts.analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains(
						"RoutingDataSourceTests.Listener.listen uses leased mode",
						"chooses its database by the thread");
				assertThat(analysis.getAction()).contains("'idempotency.jdbc.data-source'", "transactional mode");
			});
	}

	@Test
	void transactionalListenerStartsWithAWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Routing.class, Listener.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO"))
				.anyMatch((message) -> message.contains("Listener") && message.contains("mode TRANSACTIONAL"));
			assertThat(logs.messages("WARN"))
				.anyMatch((message) -> message.contains("Only transactional mode is possible"));
		}
	}

	@Test
	void leasedOperationIsRefusedWithARoutingDataSource() {
		this.runner.withUserConfiguration(Routing.class).run((context) -> {
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			assertThatIllegalStateException()
				.isThrownBy(() -> template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED),
						ResultCodec.none(), () -> null))
				.withMessageContaining("chooses its database by the thread");
		});
	}

	@Test
	void leasedListenerStartsWhenTheStoreHasItsOwnDataSource() {
		this.runner.withUserConfiguration(Routing.class, Fixed.class, Listener.class)
			.withPropertyValues("idempotency.mode=leased", "idempotency.jdbc.data-source=fixed")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void embeddedRelayIsRefusedWithARoutingDataSource() {
		this.runner.withUserConfiguration(Routing.class)
			.withPropertyValues("idempotency.outbox.enabled=true")
			.run((context) -> {
				FailureAnalysis analysis = Contexts.analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains("The DataSource of the outbox chooses its database");
				assertThat(analysis.getAction()).contains("'debezium'");
			});
	}

	@Test
	void routingDataSourceWithoutATargetAtStartUpIsRefused() {
		this.runner.withUserConfiguration(RoutingWithoutTarget.class, Listener.class).run((context) -> {
			FailureAnalysis analysis = Contexts.analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains("chooses its database by the thread",
					"has none for the thread that starts the application", "lookup key [null]");
			assertThat(analysis.getAction()).contains("setDefaultTargetDataSource", "'idempotency.jdbc.data-source'");
		});
	}

	static DataSource routing(@Nullable Object key) {
		AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

			@Override
			protected @Nullable Object determineCurrentLookupKey() {
				return key;
			}

		};
		routing.setTargetDataSources(Map.of("a", Servers.pool(Servers.newDatabase())));
		routing.afterPropertiesSet();
		return routing;
	}

	static class Routing {

		@Bean
		static DataSource dataSource() {
			return routing("a");
		}

	}

	static class RoutingWithoutTarget {

		@Bean
		static DataSource dataSource() {
			return routing(null);
		}

	}

	static class LazyRouting {

		@Bean
		static DataSource dataSource() {
			return new LazyConnectionDataSourceProxy(routing("a"));
		}

	}

	static class ProxiedRouting {

		@Bean
		static DataSource dataSource() {
			return (DataSource) new ProxyFactory(routing("a")).getProxy();
		}

	}

	static class Fixed {

		@Bean
		static DataSource fixed() {
			return Servers.pool(Servers.newDatabase());
		}

	}

	static class Listener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

}
