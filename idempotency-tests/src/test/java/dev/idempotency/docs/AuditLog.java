/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.util.EnumSet;
import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.OperationObserver;

/**
 * The observer of {@code docs/audit.md}.
 */
@Component
class AuditLog implements OperationObserver {

	private static final Log logger = LogFactory.getLog(AuditLog.class);

	private static final Set<Outcome> KEPT = EnumSet.of(Outcome.DUPLICATE, Outcome.OTHER_CONTENT, Outcome.STALE,
			Outcome.DECLINED, Outcome.FAILED, Outcome.LOST, Outcome.REJECTED, Outcome.UNPROTECTED);

	private final JdbcTemplate jdbc;

	private final TransactionTemplate transaction;

	AuditLog(JdbcTemplate jdbc, PlatformTransactionManager manager) {
		this.jdbc = jdbc;
		this.transaction = new TransactionTemplate(manager);
		this.transaction.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
	}

	@Override
	public void handled(HandledOperation operation) {
		if (KEPT.contains(operation.outcome()) || operation.attempt() > 1) {
			add(operation.outcome().name(), operation.listener(), operation.key(), operation.attempt(),
					String.valueOf(operation.origin()));
		}
	}

	@Override
	public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
		if (settlement == Settlement.LOST) {
			add("LOST", listener, key, null, "a pending completion");
		}
	}

	@Override
	public void intervened(Intervention intervention, boolean done, String description) {
		if (done) {
			add(intervention.name(), null, null, null, description);
		}
	}

	private void add(String event, @Nullable String listener, @Nullable IdempotencyKey key, @Nullable Integer attempt,
			String detail) {
		String scope = (key != null) ? key.scope() : null;
		String value = (key != null) ? key.value() : null;
		try {
			this.transaction.executeWithoutResult((status) -> this.jdbc.update(
					"INSERT INTO idempotency_audit (event, listener, scope, key, attempt, detail) VALUES (?, ?, ?, ?, ?, ?)",
					event, listener, scope, value, attempt, detail));
		}
		catch (DataAccessException | TransactionException ex) {
			logger.error("Not in the audit: " + event + " " + listener + " " + key + " " + attempt + " " + detail, ex);
		}
	}

}
