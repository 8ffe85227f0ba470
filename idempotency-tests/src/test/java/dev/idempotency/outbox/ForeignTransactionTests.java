/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import jakarta.persistence.EntityManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for transactions of another {@link DataSource} in which a read has bound a
 * connection of the outbox's own DataSource. With {@code auto-commit=false} this
 * connection looks transactional, but is closed without a commit.
 */
@Tag("promise-15")
class ForeignTransactionTests {

	private static final String ROWS = "SELECT count(*) FROM idempotency_outbox";

	private final String topic = Servers.newTopic("foreign", 1);

	private static OutboxApp start(Class<?>... configuration) {
		return OutboxApp.start((settings) -> settings.with("spring.datasource.hikari.auto-commit", false)
			.with("idempotency.outbox.relay", "none"), configuration);
	}

	private static void inForeignTransaction(OutboxApp app, Runnable work) {
		try (TestDatabase other = TestDatabase.h2()) {
			new TransactionTemplate(new DataSourceTransactionManager(other.pool())).executeWithoutResult((status) -> {
				app.jdbc().queryForObject(ROWS, Long.class);
				work.run();
			});
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { Jdbc.class, Lazy.class, Jpa.class })
	void messageOfAnotherManagersTransactionIsRefused(Class<?> manager) {
		AtomicReference<Throwable> refused = new AtomicReference<>();
		try (OutboxApp app = start(manager)) {
			inForeignTransaction(app,
					() -> refused.set(catchThrowable(() -> app.outbox().send(this.topic, "account-1", "lost"))));
			assertThat(refused.get()).isInstanceOf(IllegalStateException.class)
				.hasMessageStartingWith("The active transaction is not one of the outbox's transaction manager, a ")
				.hasMessageContaining(" to " + this.topic + " would be lost. Send it in a transaction of that manager");
			app.inTransaction(() -> {
				app.jdbc().queryForObject(ROWS, Long.class);
				app.outbox().send(this.topic, "account-1", "kept");
			});
			assertThat(app.jdbc().queryForObject(ROWS, Long.class)).isOne();
		}
	}

	@Test
	void recordOfATransactionalHandlerCommitsIndependently() {
		IdempotencyKey key = TestDatabase.newKey();
		try (OutboxApp app = start()) {
			IdempotencyTemplate template = app.context().getBean(IdempotencyTemplate.class);
			inForeignTransaction(app,
					() -> template.execute(TestDatabase.operation(key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
						app.outbox().send(this.topic, "account-1", "kept");
						return "done";
					}));
			assertThat(one(template.store()).find(key)).isPresent();
			assertThat(app.jdbc().queryForObject(ROWS, Long.class)).isOne();
		}
	}

	static class Jdbc {

	}

	/**
	 * A transaction manager for a proxy of the {@link DataSource}.
	 */
	static class Lazy {

		@Bean
		PlatformTransactionManager transactionManager(DataSource dataSource) {
			return new DataSourceTransactionManager(new LazyConnectionDataSourceProxy(dataSource));
		}

	}

	/**
	 * The transaction manager of JPA.
	 */
	static class Jpa {

		@Bean
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setDataSource(dataSource);
			factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
			factory.setManagedTypes(PersistenceManagedTypes.of(OutboxJpaTests.Account.class.getName()));
			return factory;
		}

		@Bean
		JpaTransactionManager transactionManager(EntityManagerFactory factory) {
			return new JpaTransactionManager(factory);
		}

	}

}
