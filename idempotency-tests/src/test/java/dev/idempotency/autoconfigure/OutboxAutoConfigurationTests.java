/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;
import java.util.Map;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanCurrentlyInCreationException;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionManagerCustomizationAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.ComponentScan.Filter;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.FilterType;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.TransactionExecutionListener;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyOutboxAutoConfiguration}.
 */
class OutboxAutoConfigurationTests {

	private final ApplicationContextRunner disabled = Contexts.all();

	private final ApplicationContextRunner runner = this.disabled.withPropertyValues("idempotency.outbox.enabled=true");

	private void assertRefused(ApplicationContextRunner application, String description) {
		application.run((context) -> assertThat(context).hasFailed()
			.getFailure()
			.rootCause()
			.isInstanceOf(IdempotencyConfigurationException.class)
			.hasMessageContaining(description));
	}

	@Test
	void outboxIsAbsentByDefault() {
		this.disabled.run((context) -> assertThat(context).doesNotHaveBean(Outbox.class)
			.doesNotHaveBean(OutboxStore.class)
			.doesNotHaveBean(OutboxRelay.class));
	}

	@Test
	void outboxIsAbsentWhenTheLibraryIsDisabled() {
		this.runner.withPropertyValues("idempotency.enabled=false")
			.run((context) -> assertThat(context).doesNotHaveBean(Outbox.class).doesNotHaveBean(OutboxRelay.class));
	}

	@Test
	void usersOutboxIsUsed() {
		this.runner.withUserConfiguration(UsersOutbox.class)
			.run((context) -> assertThat(context).hasSingleBean(Outbox.class).hasBean("usersOutbox"));
	}

	@Test
	void applicationStartsWithoutThePostgresqlDriver() {
		this.runner.withClassLoader(new FilteredClassLoader("org.postgresql.PGConnection"))
			.run((context) -> assertThat(context).hasSingleBean(Outbox.class).hasSingleBean(OutboxRelay.class));
	}

	@Test
	void enabledOutboxIsRefusedWhenKafkaOrJdbcIsMissing() {
		ApplicationContextRunner inMemory = this.runner.withPropertyValues("idempotency.store.type=in-memory");
		assertRefused(inMemory.withClassLoader(new FilteredClassLoader(KafkaTemplate.class)),
				"'idempotency.outbox.enabled' is 'true', but Spring Kafka is not on the class path.");
		assertRefused(inMemory.withClassLoader(new FilteredClassLoader(DataSourceUtils.class)),
				"'idempotency.outbox.enabled' is 'true', but Spring JDBC is not on the class path.");
	}

	@Test
	void senderIsRefusedWithTheSameExplanationWhenKafkaIsMissing() {
		ApplicationContextRunner sending = this.runner.withUserConfiguration(Sending.class)
			.withPropertyValues("idempotency.store.type=in-memory");
		for (String lazy : List.of("true", "false")) {
			assertRefused(
					sending.withPropertyValues("spring.main.lazy-initialization=" + lazy)
						.withClassLoader(new FilteredClassLoader(KafkaTemplate.class)),
					"but Spring Kafka is not on the class path.");
		}
	}

	@Test
	void applicationStartsWithoutKafkaOrJdbcWhenTheOutboxIsDisabledOrReplaced() {
		for (Class<?> missing : List.of(KafkaTemplate.class, DataSourceUtils.class)) {
			ApplicationContextRunner without = this.disabled.withPropertyValues("idempotency.store.type=in-memory")
				.withClassLoader(new FilteredClassLoader(missing));
			without.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(Outbox.class));
			without.withPropertyValues("idempotency.outbox.enabled=true", "idempotency.enabled=false")
				.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(Outbox.class));
			without.withPropertyValues("idempotency.outbox.enabled=true")
				.withUserConfiguration(UsersOutbox.class)
				.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(Outbox.class));
		}
	}

	@Test
	void outboxIsRefusedWithoutADataSource() {
		assertRefused(new ApplicationContextRunner()
			.withConfiguration(
					AutoConfigurations.of(KafkaAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class))
			.withPropertyValues("idempotency.outbox.enabled=true"), "but there is no DataSource");
	}

	@Test
	void outboxIsRefusedWithoutATransactionManager() {
		assertRefused(this.runner.withPropertyValues("spring.kafka.producer.transaction-id-prefix=tx-"),
				"has no transaction manager");
	}

	@ParameterizedTest
	@ValueSource(classes = { TransactionsNeedTemplate.class, TransactionsNeedOutbox.class })
	@Tag("promise-15")
	void cycleWithTheTransactionManagerStopsTheStartAndIsNamed(Class<?> configuration) {
		this.runner.withConfiguration(AutoConfigurations.of(TransactionManagerCustomizationAutoConfiguration.class))
			.withUserConfiguration(configuration)
			.run((context) -> assertThat(context).hasFailed()
				.getFailure()
				.rootCause()
				.isInstanceOfSatisfying(BeanCurrentlyInCreationException.class,
						(cycle) -> assertThat(cycle.getBeanName()).isIn("transactionManager", "listener")));
	}

	@Test
	void namedKafkaTemplateThatDoesNotExistIsRefused() {
		assertRefused(this.runner.withPropertyValues("idempotency.outbox.kafka-template=other"),
				"'idempotency.outbox.kafka-template' is 'other', but there is no KafkaTemplate bean with this name.");
	}

	@Test
	void refusalWithoutATransactionManagerDoesNotMentionListenerModes() {
		try (Logs logs = Logs.ofThisThread()) {
			assertRefused(
					this.runner.withPropertyValues("idempotency.store.type=in-memory",
							"spring.kafka.producer.transaction-id-prefix=tx-"),
					"Other transaction managers: [kafkaTransactionManager]");
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains("leased mode"));
		}
	}

	@Test
	void applicationBeansMayHaveTheNamesOfLibraryClasses() {
		this.runner.withUserConfiguration(Scanning.class)
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(Outbox.class));
	}

	@Test
	@Tag("promise-12")
	void debeziumRelayWarnsWhenNoPublicationContainsTheTable() {
		String table = Servers.unique("outbox");
		ApplicationContextRunner debezium = this.runner.withPropertyValues("idempotency.outbox.relay=debezium",
				"idempotency.outbox.table=" + table);
		try (Logs logs = Logs.about(table)) {
			debezium.run((context) -> context.getBean(JdbcTemplate.class)
				.execute("CREATE PUBLICATION %1$s FOR TABLE %1$s".formatted(table)));
			assertThat(logs.messages("WARN")).singleElement(InstanceOfAssertFactories.STRING)
				.contains("no publication of the database contains the table");
			debezium.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).hasSize(1);
		}
	}

	@Test
	void instancePublishesOnlyWithTheEmbeddedRelayAndLogsIt() {
		Map<String, String> lines = Map.of("embedded", "this instance publishes messages (relay 'embedded').", "none",
				"another instance must publish messages (relay 'none').", "debezium",
				"a connector must publish messages (relay 'debezium').");
		lines.forEach((relay, line) -> {
			String table = Servers.unique("outbox");
			try (Logs logs = Logs.about(table)) {
				this.runner
					.withPropertyValues("idempotency.outbox.relay=" + relay, "idempotency.outbox.table=" + table,
							"idempotency.outbox.retention=36h")
					.run((context) -> {
						assertThat(context).hasSingleBean(Outbox.class);
						int own = relay.equals("embedded") ? 1 : 0;
						assertThat(context.getBeanProvider(OutboxRelay.class)).hasSize(own);
						assertThat(context.getBeanProvider(OutboxPublisher.class)).hasSize(own);
					});
				assertThat(logs.messages("INFO")).filteredOn((message) -> message.contains("relay"))
					.containsExactly("Outbox '" + table + "': " + line + " Published messages are kept for 1d12h");
			}
		});
	}

	@Test
	void settingOutOfRangeIsRefused() {
		assertRefused(this.runner.withPropertyValues("idempotency.outbox.batch-size=0"),
				"'idempotency.outbox.batch-size' is 0");
		assertRefused(this.runner.withPropertyValues("idempotency.outbox.retention=-1s"),
				"keeps published messages for");
		assertRefused(this.runner.withPropertyValues("idempotency.outbox.table=x y"), "is not a valid name for");
	}

	/**
	 * A component that sends a message and is created before auto-configured beans.
	 */
	@Configuration(proxyBeanMethods = false)
	static class Sending {

		Sending(Outbox outbox) {
			outbox.send(List.of());
		}

	}

	/**
	 * An outbox that the application declares.
	 */
	@Configuration(proxyBeanMethods = false)
	static class UsersOutbox {

		@Bean
		Outbox usersOutbox() {
			return (List<OutboxMessage> messages) -> {
			};
		}

	}

	/**
	 * A bean that Boot adds to each transaction manager, and that uses the template.
	 */
	@Configuration(proxyBeanMethods = false)
	static class TransactionsNeedTemplate {

		@Bean
		TransactionExecutionListener listener(IdempotencyTemplate template) {
			return new TransactionExecutionListener() {
			};
		}

	}

	/**
	 * A bean that Boot adds to each transaction manager, and that uses the outbox.
	 */
	@Configuration(proxyBeanMethods = false)
	static class TransactionsNeedOutbox {

		@Bean
		TransactionExecutionListener listener(Outbox outbox) {
			return new TransactionExecutionListener() {
			};
		}

	}

	/**
	 * An application whose components have the same bean names as classes of the library.
	 */
	@Configuration(proxyBeanMethods = false)
	@ComponentScan(useDefaultFilters = false, includeFilters = @Filter(type = FilterType.ASSIGNABLE_TYPE,
			classes = { UsersStore.class, UsersSerializer.class, UsersPublisher.class, UsersListener.class }))
	static class Scanning {

	}

	@Component("jdbcOutboxStore")
	static class UsersStore {

	}

	@Component("kafkaOutboxSerializer")
	static class UsersSerializer {

	}

	@Component("kafkaOutboxPublisher")
	static class UsersPublisher {

	}

	@Component("outboxMetrics")
	static class UsersListener {

	}

}
