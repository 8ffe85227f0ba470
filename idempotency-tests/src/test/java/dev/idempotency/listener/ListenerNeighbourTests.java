/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import javax.sql.DataSource;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.TopicPartition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for configurations beside {@code @Idempotent} that would break its guarantees
 * without an error.
 */
@Tag("promise-12")
class ListenerNeighbourTests {

	private final ApplicationContextRunner runner = Contexts.all();

	private final ApplicationContextRunner inMemory = Contexts.inMemory();

	@Test
	void consumerThatCommitsByItselfIsRefused() {
		assertRefused(this.inMemory.withPropertyValues("spring.kafka.consumer.enable-auto-commit=true"), Plain.class,
				"its consumer commits offsets by itself");
	}

	@Test
	void transactionOutsideTheAdviceIsRefused() {
		assertRefused(this.runner, TransactionOutside.class, "@Transactional begins its transaction outside");
	}

	@Test
	void transactionsOfAnotherManagerAreRefusedInTransactionalMode() {
		assertRefused(this.runner, OtherManager.class,
				"has its own transactions in 'other', which is not the transaction manager of the store");
	}

	@Test
	void transactionsOfAnotherManagerMeanLeasedModeInAutoMode() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(OtherManagerAuto.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).anyMatch((message) -> message.contains("so it uses leased mode"));
			assertThat(logs.messages("INFO")).anyMatch((message) -> message.contains("mode LEASED"));
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { PrimaryManager.class, ConfiguredManager.class })
	@Tag("promise-5")
	void unqualifiedTransactionsOfAnotherManagerMeanLeasedModeInAutoMode(Class<?> managers) {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(managers, Unqualified.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).anyMatch((message) -> message
				.contains("ListenerNeighbourTests.Unqualified.listen has its own "
						+ "transactions in the application's default transaction manager")
					&& message.contains("so it uses leased mode"));
			assertThat(logs.messages("INFO"))
				.anyMatch((message) -> message.contains("Unqualified") && message.contains("mode LEASED"));
		}
	}

	@Test
	void unqualifiedTransactionsOfAnotherManagerAreRefusedInTransactionalMode() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues("idempotency.mode=transactional")
			.withUserConfiguration(PrimaryManager.class, Unqualified.class));
		assertThat(analysis.getDescription()).contains("ListenerNeighbourTests.Unqualified.listen",
				"which is not the transaction manager of the store");
		assertThat(analysis.getAction()).contains("@Transactional");
	}

	@Test
	void unqualifiedTransactionsOfTheStoresManagerAreTransactional() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(StorePrimary.class, Unqualified.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO"))
				.anyMatch((message) -> message.contains("Unqualified") && message.contains("mode TRANSACTIONAL"));
		}
	}

	@Test
	void scopeSharedByTwoMethodsCausesAWarning() {
		try (Logs logs = new Logs()) {
			this.inMemory.withUserConfiguration(SharedScope.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).anyMatch((message) -> message.contains("share the scope 'orders'"));
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { Assigned.class, Deputy.class, Pattern.class })
	void listenersOfOnePartitionWithOneDefaultScopeAreRefused(Class<?> other) {
		FailureAnalysis analysis = Contexts.failure(this.inMemory.withUserConfiguration(AssignedToo.class, other));
		assertThat(analysis.getDescription()).contains("ListenerNeighbourTests.AssignedToo.mail",
				"ListenerNeighbourTests." + other.getSimpleName(), "assigned manually",
				"would never be processed by the other");
		assertThat(analysis.getAction()).startsWith("Set 'scope' of @Idempotent");
	}

	@ParameterizedTest
	@ValueSource(classes = { OtherPartition.class, AssignedWithScope.class, OtherTopic.class })
	void listenersWithoutCommonPartitionOrScopeStartWithAWarningAboutOtherInstances(Class<?> other) {
		try (Logs logs = new Logs()) {
			this.inMemory.withUserConfiguration(AssignedToo.class, other)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).filteredOn((message) -> message.contains("AssignedToo"))
				.singleElement()
				.asString()
				.contains("assigned manually", "A record that one instance has processed is a duplicate for the others",
						"Set 'scope' of @Idempotent");
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains("AssignedWithScope"));
		}
	}

	@Test
	void listenersOfOneGroupAndTopicShareTheirScopeWithoutAWarning() {
		try (Logs logs = new Logs()) {
			this.inMemory.withUserConfiguration(Plain.class, Deputy.class)
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains("scope"));
		}
	}

	private static void assertRefused(ApplicationContextRunner runner, Class<?> listener, String problem) {
		FailureAnalysis analysis = Contexts.failure(runner.withUserConfiguration(listener));
		assertThat(analysis.getDescription()).contains(problem);
		assertThat(analysis.getAction()).isNotBlank();
	}

	static class Plain {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	@EnableTransactionManagement(order = 0)
	static class TransactionOutside {

		@Transactional
		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class OtherManager {

		@Bean
		static JdbcTransactionManager store(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		static JdbcTransactionManager other() {
			return new JdbcTransactionManager(Servers.pool(Servers.postgres().url("postgres")));
		}

		@Transactional("other")
		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class OtherManagerAuto extends OtherManager {

		@Override
		@Transactional("other")
		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Unqualified {

		@Transactional
		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class PrimaryManager {

		@Bean
		static JdbcTransactionManager store(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		@Primary
		static JdbcTransactionManager business() {
			return new JdbcTransactionManager(Servers.pool(Servers.postgres().url("postgres")));
		}

	}

	static class StorePrimary {

		@Bean
		@Primary
		static JdbcTransactionManager store(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		static JdbcTransactionManager business() {
			return new JdbcTransactionManager(Servers.pool(Servers.postgres().url("postgres")));
		}

	}

	@EnableTransactionManagement
	static class ConfiguredManager extends StorePrimary implements TransactionManagementConfigurer {

		private final JdbcTransactionManager manager = new JdbcTransactionManager(
				Servers.pool(Servers.postgres().url("postgres")));

		@Override
		public TransactionManager annotationDrivenTransactionManager() {
			return this.manager;
		}

	}

	@Idempotent(scope = "orders")
	@KafkaListener(topics = "topic", groupId = "group")
	static class SharedScope {

		@KafkaHandler
		void created(String value) {
		}

		@KafkaHandler
		void paid(Integer value) {
		}

	}

	static class Deputy {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void stand(String value) {
		}

	}

	static class Assigned {

		@Idempotent
		@KafkaListener(topicPartitions = @TopicPartition(topic = "topic", partitions = { "0", "1" }), groupId = "group")
		void ledger(String value) {
		}

	}

	static class AssignedToo {

		@Idempotent
		@KafkaListener(topicPartitions = @TopicPartition(topic = "topic", partitions = "1"), groupId = "group")
		void mail(String value) {
		}

	}

	static class Pattern {

		@Idempotent
		@KafkaListener(topicPattern = "top.*", groupId = "group")
		void listen(String value) {
		}

	}

	static class OtherPartition {

		@Idempotent
		@KafkaListener(topicPartitions = @TopicPartition(topic = "topic", partitions = "2"), groupId = "group")
		void listen(String value) {
		}

	}

	static class OtherTopic {

		@Idempotent
		@KafkaListener(topics = "other", groupId = "group")
		void listen(String value) {
		}

	}

	static class AssignedWithScope {

		@Idempotent(scope = "mail")
		@KafkaListener(topicPartitions = @TopicPartition(topic = "topic", partitions = "1"), groupId = "group")
		void listen(String value) {
		}

	}

}
