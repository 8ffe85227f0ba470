/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.interceptor.TransactionAttribute;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Mode;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.listener.setup.ListenerSettingsFactory.ListenerStore;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * Chooses the mode of a listener method, and rejects modes that cannot work.
 *
 * @param store the store
 * @param shape the kind of the method
 * @param transaction the attributes of its own transactions, {@code null} if it has none
 */
record ModeChoice(ListenerStore store, ListenerShape shape, @Nullable TransactionAttribute transaction) {

	private static final Log logger = LogFactory.getLog(ModeChoice.class);

	Mode choose(Mode requested) {
		Mode mode = decide(requested);
		String problem = this.store.template().leaseProblem();
		if (mode == Mode.LEASED && problem != null) {
			throw this.shape.mistake("uses leased mode, but " + problem,
					"Use transactional mode or another store. For the JDBC store, name a DataSource that always leads to "
							+ "the same database with 'idempotency.jdbc.data-source'.");
		}
		return mode;
	}

	private Mode decide(Mode requested) {
		boolean supported = this.store.template().supportsTransactions();
		if (requested == Mode.TRANSACTIONAL && !supported) {
			throw unsupported();
		}
		String problem = this.shape.transactionalProblem();
		if (supported && problem != null) {
			boolean kafka = this.shape.kafkaTransaction();
			return leased(requested, "is configured for transactional mode, but it " + problem,
					kafka ? "Use leased mode, which completes after the Kafka transaction; or use a container factory "
							+ "without a Kafka transaction manager, and send the messages of the handler "
							+ "through the outbox." : "Use leased mode, or let the method return its result itself.",
					kafka ? problem : null);
		}
		String foreign = (supported && requested != Mode.LEASED && this.transaction != null)
				? this.store.foreignTransactions().apply(this.transaction, this.shape.targetClass()) : null;
		if (foreign != null) {
			String other = "has its own transactions in " + foreign
					+ ", which is not the transaction manager of the store";
			return leased(requested, other, "Use the store's transaction manager in @Transactional, or leased mode.",
					other);
		}
		Mode mode = (requested != Mode.AUTO) ? requested : (supported ? Mode.TRANSACTIONAL : Mode.LEASED);
		if (mode == Mode.TRANSACTIONAL) {
			checkTransaction();
		}
		return mode;
	}

	private void checkTransaction() {
		TransactionDefinition own = (this.transaction != null) ? this.transaction
				: TransactionDefinition.withDefaults();
		boolean escapes = switch (own.getPropagationBehavior()) {
			case TransactionDefinition.PROPAGATION_REQUIRES_NEW, TransactionDefinition.PROPAGATION_NOT_SUPPORTED,
					TransactionDefinition.PROPAGATION_NEVER ->
				true;
			default -> false;
		};
		if (escapes || own.isReadOnly()) {
			throw this.shape.mistake(
					"is transactional, but its own @Transactional "
							+ (escapes ? "suspends the transaction in which the record commits" : "is read-only"),
					"Remove the propagation or readOnly attribute, or use leased mode.");
		}
		String problem = (this.store.template().store() instanceof TransactionalIdempotencyStore transactional)
				? transactional.isolationProblem(own.getIsolationLevel()) : null;
		if (problem != null) {
			throw this.shape.mistake("is transactional, but its transactions " + problem,
					"Set the isolation of the DataSource (for Hikari 'spring.datasource.hikari.transaction-isolation') or "
							+ "of @Transactional to READ_COMMITTED, or 'idempotency.jdbc.layout' to 'single', or use "
							+ "leased mode.");
		}
	}

	private Mode leased(Mode requested, String problem, String action, @Nullable String warning) {
		if (requested == Mode.TRANSACTIONAL) {
			throw this.shape.mistake(problem, action);
		}
		if (requested == Mode.AUTO && warning != null) {
			logger.warn("The idempotent listener " + this.shape.name() + " " + warning
					+ ", so it uses leased mode. Set the mode to LEASED if that is intended");
		}
		return Mode.LEASED;
	}

	private IdempotencyConfigurationException unsupported() {
		IdempotencyTemplate template = this.store.template();
		String problem = "is configured for transactional mode, but the store '" + template.name() + "' ";
		return (template.store() instanceof TransactionalIdempotencyStore)
				? this.shape.mistake(problem + "has no transaction manager",
						"Define a JdbcTransactionManager bean for the store's DataSource (Boot defines none when "
								+ "'spring.kafka.producer.transaction-id-prefix' is set), name one with "
								+ "'idempotency.jdbc.transaction-manager', or use leased mode.")
				: this.shape.mistake(problem + "does not support transactions",
						"Use leased mode, or the store in the database of the transaction: set "
								+ "'idempotency.store.type' to 'jdbc'.");
	}

}
