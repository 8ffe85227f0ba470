/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.List;

import javax.sql.DataSource;

import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for sending with an outbox in a JPA transaction.
 */
class OutboxJpaTests {

	private static OutboxApp app;

	private static EntityManager entityManager;

	private final String topic = Servers.newTopic("jpa", 1);

	private final String id = Servers.unique("account");

	@BeforeAll
	static void start() {
		app = OutboxApp.start((settings) -> {
		}, Jpa.class);
		app.jdbc().execute("CREATE TABLE account (id text PRIMARY KEY, balance int NOT NULL)");
		entityManager = SharedEntityManagerCreator
			.createSharedEntityManager(app.context().getBean(EntityManagerFactory.class));
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	private void open(int balance) {
		entityManager.persist(new Account(this.id, balance));
		app.outbox().send(this.topic, this.id, String.valueOf(balance));
	}

	private List<Integer> balances() {
		return app.jdbc().queryForList("SELECT balance FROM account WHERE id = ?", Integer.class, this.id);
	}

	@Test
	void entityAndMessageCommitAndRollBackTogether() {
		assertThatIllegalStateException().isThrownBy(() -> app.inTransaction(() -> {
			open(1);
			entityManager.flush();
			assertThat(balances()).containsExactly(1);
			throw new IllegalStateException("After both");
		}));
		assertThat(balances()).isEmpty();
		app.inTransaction(() -> open(2));
		assertThat(balances()).containsExactly(2);
		Awaitility.await()
			.untilAsserted(
					() -> assertThat(Kafka.read(this.topic)).extracting(ConsumerRecord::value).containsExactly("2"));
		assertThat(app.jdbc()
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE topic = ?", Long.class, this.topic)).isOne();
	}

	// This is why the documentation recommends a flush.
	@Test
	void entityIsWrittenAfterTheMessageUnlessItIsFlushed() {
		app.inTransaction(() -> entityManager.persist(new Account(this.id, 1)));
		app.inTransaction(() -> {
			entityManager.find(Account.class, this.id).balance = 2;
			app.outbox().send(this.topic, this.id, "2");
			assertThat(balances()).containsExactly(1);
			entityManager.flush();
			assertThat(balances()).containsExactly(2);
		});
	}

	/**
	 * JPA, with its own transaction manager.
	 */
	static class Jpa {

		@Bean
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setDataSource(dataSource);
			factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
			factory.setManagedTypes(PersistenceManagedTypes.of(Account.class.getName()));
			return factory;
		}

		@Bean
		JpaTransactionManager transactionManager(EntityManagerFactory factory) {
			return new JpaTransactionManager(factory);
		}

	}

	@Entity
	@Table(name = "account")
	static class Account {

		@Id
		private String id;

		private int balance;

		Account() {
		}

		Account(String id, int balance) {
			this.id = id;
			this.balance = balance;
		}

	}

}
