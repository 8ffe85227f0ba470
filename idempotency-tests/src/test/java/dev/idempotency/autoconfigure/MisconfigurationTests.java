/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyFailureAnalyzer} and for the selection of the
 * {@link DataSource} and the transaction manager.
 */
@Tag("promise-12")
class MisconfigurationTests {

	private static final String KAFKA_TRANSACTION = "spring.kafka.producer.transaction-id-prefix=tx";

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void propertyThatDoesNotExistIsNamedWithTheNearestOne() {
		try (Logs logs = Logs.ofThisThread()) {
			this.runner
				.withPropertyValues("idempotency.store.on-unavailible=process", "idempotency.key.headers[0]=id",
						"idempotency.stores.other.type=in-memory", "idempotency.outbox.threads=1",
						"idempotency.reconciliation.limit=1", "idempotency.mdc.enabled=false", "idempotency.mdc=",
						"idempotency.circuitBreaker.slidingWindowSize=10")
				.run((context) -> {
					assertThat(context).hasNotFailed();
					assertThat(logs.messages("WARN")).filteredOn((message) -> message.contains("property"))
						.containsExactly(
								"The library has no property 'idempotency.store.on-unavailible'. The nearest one is "
										+ "'idempotency.store.on-unavailable'. Correct the name, unless the property "
										+ "is not meant for the library");
				});
		}
	}

	@Test
	void missingOutboxIsExplainedByItsProperty() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(Sending.class));
		assertThat(analysis.getDescription()).isEqualTo("A bean needs an Outbox, but the outbox is off.");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.outbox.enabled' to true.");
	}

	@Test
	void twoDataSourcesAreRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(TwoDataSources.class));
		assertThat(analysis.getDescription())
			.isEqualTo("There are several DataSource beans for the idempotency store or the outbox: [first, second].");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.jdbc.data-source' to one of them");
	}

	@Test
	void namedDataSourceIsUsed() {
		this.runner.withUserConfiguration(TwoDataSources.class)
			.withPropertyValues("idempotency.jdbc.data-source=second")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(new JdbcTemplate(context.getBean("second", DataSource.class))
					.queryForObject("SELECT count(*) FROM idempotency_record", Integer.class)).isZero();
			});
	}

	@Test
	void twoTransactionManagersOfTheDataSourceAreRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(TwoManagers.class));
		assertThat(analysis.getDescription()).isEqualTo(
				"Several transaction managers manage the DataSource of the idempotency store or the outbox: [one, two].");
		assertThat(analysis.getAction()).isEqualTo("Set 'idempotency.jdbc.transaction-manager' to one of them.");
	}

	@Test
	void namedTransactionManagerIsUsed() {
		this.runner.withUserConfiguration(TwoManagers.class)
			.withPropertyValues("idempotency.jdbc.transaction-manager=two")
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).transactionManager())
				.isSameAs(context.getBean("two")));
	}

	@Test
	void transactionManagerOfAProxyOfTheDataSourceIsFound() {
		this.runner.withUserConfiguration(ProxiedManager.class)
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).transactionManager())
				.isSameAs(context.getBean("proxied")));
	}

	@Test
	void transactionManagerWithoutABoundConnectionIsNotUsed() {
		this.runner.withUserConfiguration(UnboundManager.class)
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).transactionManager()).isNull());
	}

	@Test
	void namedTransactionManagerWithoutABoundConnectionIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(UnboundManager.class)
			.withPropertyValues("idempotency.jdbc.transaction-manager=unbound"));
		assertThat(analysis.getDescription()).isEqualTo(
				"The transaction manager 'unbound' does not manage the DataSource of the idempotency store or the outbox.");
	}

	@Test
	void transactionalListenerIsRefusedWithoutAJdbcTransactionManager() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues(KAFKA_TRANSACTION)
			.withUserConfiguration(PlainFactory.class, TransactionalListener.class));
		assertThat(analysis.getDescription()).contains(
				"TransactionalListener.listen is configured for transactional mode",
				"the store 'jdbc' has no transaction manager.");
		assertThat(analysis.getAction()).startsWith("Define a JdbcTransactionManager bean for the store's DataSource");
	}

	@Test
	void modeAutoIsLeasedWithAWarningWithoutAJdbcTransactionManager() {
		try (Logs logs = new Logs()) {
			this.runner.withPropertyValues(KAFKA_TRANSACTION)
				.withUserConfiguration(PlainFactory.class, AutoListener.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("Other transaction managers: [kafkaTransactionManager]",
						"@Transactional uses the one of Kafka. Listeners in mode AUTO use leased mode");
			assertThat(logs.messages("INFO")).anyMatch((message) -> message.contains("mode LEASED"));
		}
	}

	@Test
	void jdbcTransactionManagerIsFoundNextToThatOfKafka() {
		this.runner.withPropertyValues(KAFKA_TRANSACTION)
			.withUserConfiguration(PlainFactory.class, TransactionalListener.class, UsersManager.class)
			.run((context) -> assertThat(context.getBean(IdempotencyTemplate.class).supportsTransactions()).isTrue());
	}

	@Test
	void invalidTableNameIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withPropertyValues("idempotency.jdbc.table=x; DROP TABLE users"));
		assertThat(analysis.getDescription())
			.isEqualTo("'x; DROP TABLE users' is not a valid name for the idempotency table or the outbox.");
		assertThat(analysis.getAction())
			.startsWith("Set 'idempotency.jdbc.table' and 'idempotency.outbox.table' to at most 40 letters, digits");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			idempotency.cleanup.batch-size | The batch size of the cleanup of expired idempotency records is 0, \
			so that it would never delete a record. | Set 'idempotency.cleanup.batch-size' to one or more.
			idempotency.outbox.batch-size  | '''idempotency.outbox.batch-size'' is 0.' | \
			Set 'idempotency.outbox.batch-size' to 1 to 10000.
			""")
	void batchSizeOfZeroIsRefused(String property, String description, String action) {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues("idempotency.cleanup.enabled=true",
				"idempotency.outbox.enabled=true", property + "=0"));
		assertThat(analysis.getDescription()).isEqualTo(description);
		assertThat(analysis.getAction()).isEqualTo(action);
	}

	@Test
	void outboxHeaderIsRefusedAsAnMdcKey() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues("idempotency.outbox.enabled=true",
				"idempotency.outbox.mdc-keys=tenant,Idempotency-Key"));
		assertThat(analysis.getDescription()).isEqualTo(
				"'idempotency.outbox.mdc-keys' contains 'Idempotency-Key', which is a header that the outbox sets itself.");
		assertThat(analysis.getAction())
			.isEqualTo("Remove it from 'idempotency.outbox.mdc-keys', or use another MDC key.");
	}

	@Test
	void unknownDatabaseIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(UnknownDatabase.class));
		assertThat(analysis.getDescription())
			.isEqualTo("The JDBC idempotency store does not support the database 'Unknown'.");
		assertThat(analysis.getAction()).isEqualTo(
				"Use PostgreSQL, MariaDB or MySQL (or H2, in tests), or declare your own IdempotencyStore bean.");
	}

	private static DataSource dataSource() {
		return new DriverManagerDataSource(Servers.newDatabase(), Servers.postgres().username(),
				Servers.postgres().password());
	}

	@Configuration(proxyBeanMethods = false)
	static class TwoDataSources {

		@Bean
		DataSource first() {
			return dataSource();
		}

		@Bean
		DataSource second() {
			return dataSource();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoManagers {

		@Bean
		PlatformTransactionManager one(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		PlatformTransactionManager two(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UnboundManager {

		@Bean
		PlatformTransactionManager unbound(DataSource dataSource) {
			// Like a JPA dialect that does not expose its connection.
			return new JdbcTransactionManager(dataSource) {

				@Override
				protected void doBegin(Object transaction, TransactionDefinition definition) {
				}

				@Override
				protected void doRollback(DefaultTransactionStatus status) {
				}

				@Override
				protected void doCleanupAfterCompletion(Object transaction) {
				}

			};
		}

	}

	static class ProxiedManager {

		@Bean
		PlatformTransactionManager proxied(DataSource dataSource) {
			return new JdbcTransactionManager(new LazyConnectionDataSourceProxy(dataSource));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UsersManager {

		@Bean
		PlatformTransactionManager usersManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	/**
	 * A container factory without a Kafka transaction manager.
	 */
	@Configuration(proxyBeanMethods = false)
	static class PlainFactory {

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> plain(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers);
			factory.getContainerProperties().setKafkaAwareTransactionManager(null);
			return factory;
		}

	}

	static class TransactionalListener {

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "topic", groupId = "group", containerFactory = "plain")
		void listen(String value) {
		}

	}

	static class AutoListener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", containerFactory = "plain")
		void listen(String value) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class UnknownDatabase {

		@Bean
		DataSource dataSource() {
			return new RenamedDataSource(MisconfigurationTests.dataSource(), "Unknown");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Sending {

		@Bean
		Object sender(Outbox outbox) {
			return outbox;
		}

	}

}
