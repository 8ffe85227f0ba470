/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotencyTemplate} with handlers that use JPA.
 */
@Tag("promise-5")
@TestInstance(Lifecycle.PER_CLASS)
class JpaTransactionTests {

	private final LocalContainerEntityManagerFactoryBean factoryBean = new LocalContainerEntityManagerFactoryBean();

	private TestDatabase database;

	private EntityManager entityManager;

	private IdempotencyTemplate template;

	private IdempotencyKey key;

	private String value;

	TestDatabase newDatabase() {
		return TestDatabase.create();
	}

	@BeforeAll
	void createDatabase() {
		this.database = newDatabase();
		this.database.jdbc().execute("CREATE TABLE effect (name varchar(100) PRIMARY KEY)");
		this.factoryBean.setDataSource(this.database.pool());
		this.factoryBean.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
		this.factoryBean.setManagedTypes(PersistenceManagedTypes.of(Effect.class.getName()));
		this.factoryBean.afterPropertiesSet();
		EntityManagerFactory factory = this.factoryBean.getObject();
		JpaTransactionManager manager = new JpaTransactionManager(factory);
		manager.setDataSource(this.database.pool());
		this.entityManager = SharedEntityManagerCreator.createSharedEntityManager(factory);
		this.template = new IdempotencyTemplate(this.database.store(), new Settings(manager, false, Observers.none()));
	}

	@BeforeEach
	void newKey() {
		this.key = TestDatabase.newKey();
		this.value = Servers.unique("value");
	}

	@AfterAll
	void closeDatabase() {
		this.factoryBean.destroy();
		this.database.close();
	}

	private IdempotentResult<String> run(Runnable handler) {
		return this.template.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
			this.entityManager.persist(new Effect(this.value));
			handler.run();
			return "done";
		});
	}

	private void runFailing() {
		run(() -> {
			this.entityManager.flush();
			throw new IllegalStateException("handler");
		});
	}

	private long effects() {
		return this.database.jdbc()
			.queryForObject("SELECT count(*) FROM effect WHERE name = ?", Long.class, this.value);
	}

	@Test
	void entityAndRecordCommitTogether() {
		run(() -> {
			this.entityManager.flush();
			assertThat(one(this.database.store()).find(this.key)).isEmpty();
		});
		assertThat(effects()).isOne();
		assertThat(this.database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateReplaysTheFirstResult() {
		assertThat(run(() -> {
		})).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(run(() -> {
		})).isEqualTo(new IdempotentResult<>("done", true));
	}

	@Test
	void failedHandlerLeavesNoEntity() {
		assertThatIllegalStateException().isThrownBy(this::runFailing);
		assertThat(effects()).isZero();
		assertThat(this.database.record(this.key).state()).isEqualTo(State.FAILED);
	}

	@Test
	void failedOperationRunsAgain() {
		assertThatIllegalStateException().isThrownBy(this::runFailing);
		run(() -> assertThat(IdempotentExecution.current().attempt()).isEqualTo(2));
		assertThat(effects()).isOne();
	}

	@Test
	void failedFlushAtTheCommitIsAFailureOfTheHandler() {
		this.database.jdbc().update("INSERT INTO effect VALUES (?)", this.value);
		assertThatException().isThrownBy(() -> run(() -> {
		})).isNotInstanceOf(OperationBlockedException.class);
		assertThat(this.database.record(this.key).state()).isEqualTo(State.FAILED);
	}

	@Entity
	@Table(name = "effect")
	static class Effect {

		@Id
		private String name;

		Effect() {
		}

		Effect(String name) {
			this.name = name;
		}

	}

}
