/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Threads;

/**
 * Limits the time of statements that may wait for a lock. It leaves the session alone: a
 * {@code lock_timeout} would have to be set and restored within each statement, which
 * costs as much as a tenth of a small transaction. Nor does it use
 * {@link Statement#setQueryTimeout}, which takes whole seconds and, in the PostgreSQL
 * driver, wakes the thread of a timer for each statement. One thread looks at the running
 * statements instead and cancels those that are overdue, so that a statement costs an
 * entry in a set. The thread ends when nothing has run for a while.
 * <p>
 * A statement is cancelled between its limit and an eighth of the limit later. If it is a
 * transaction of its own, it counts as failed even if the server reports success: the
 * wait for a synchronous standby may have been cancelled. The driver does not return from
 * a statement until a cancellation that has begun is over, so that the cancellation never
 * meets the next statement of the connection.
 */
final class StatementLimit {

	private static final Log logger = LogFactory.getLog(StatementLimit.class);

	private static final int IDLE_TICKS = 80;

	// The state of a connection error after which the outcome is unknown.
	private static final String UNKNOWN = "08007";

	private final Set<Running> running = ConcurrentHashMap.newKeySet();

	private final AtomicBoolean watched = new AtomicBoolean();

	private final long limit;

	StatementLimit(Duration limit) {
		this.limit = limit.toNanos();
	}

	// Limit a statement from now on.
	Running start(Statement statement) {
		Running started = new Running(statement);
		this.running.add(started);
		// The plain read keeps the common case free of a write that all threads share.
		if (!this.watched.get() && this.watched.compareAndSet(false, true)) {
			startWatcher();
		}
		return started;
	}

	private void startWatcher() {
		try {
			Threads.daemon("idempotency-statement-limit", this::watch).start();
		}
		catch (OutOfMemoryError ex) {
			// No thread can be created now. The next statement tries it again.
			this.watched.set(false);
			logger.warn(
					"Statements that wait for a lock are not limited, because no thread could be created. Increase the "
							+ "memory or the limit of threads of the process",
					ex);
		}
	}

	boolean isWatched() {
		return this.watched.get();
	}

	private void watch() {
		int idle = 0;
		while (idle < IDLE_TICKS || !end()) {
			idle = this.running.isEmpty() ? idle + 1 : 0;
			try {
				Thread.sleep(Duration.ofNanos(this.limit).dividedBy(8).toMillis() + 1);
			}
			catch (InterruptedException ex) {
				// Nobody but this class knows the thread, and statements must not stay
				// without a limit.
				continue;
			}
			long now = System.nanoTime();
			this.running.forEach((statement) -> statement.cancelIfOverdue(now));
		}
	}

	// A statement that starts between the two steps either sees that nobody watches, or
	// is seen here.
	private boolean end() {
		this.watched.set(false);
		return this.running.isEmpty() || !this.watched.compareAndSet(false, true);
	}

	final class Running implements AutoCloseable {

		private final Statement statement;

		private final long start = System.nanoTime();

		private volatile boolean cancelled;

		private Running(Statement statement) {
			this.statement = statement;
		}

		// It is cancelled once only: the cancellation of a hanging server takes time, in
		// which the statements of others would not be looked at.
		private void cancelIfOverdue(long now) {
			if (now - this.start < StatementLimit.this.limit || !StatementLimit.this.running.remove(this)) {
				return;
			}
			this.cancelled = true;
			try {
				this.statement.cancel();
			}
			catch (SQLException | RuntimeException | Error ex) {
				logger.debug("An overdue statement could not be cancelled. The timeout of its connection ends it", ex);
			}
		}

		// Make sure that the effect of the statement is durable. Within a
		// transaction, this depends on the commit.
		void check() throws SQLException {
			if (this.cancelled && this.statement.getConnection().getAutoCommit()) {
				throw new SQLException("The statement was cancelled, so its effect may not be durable", UNKNOWN);
			}
		}

		@Override
		public void close() {
			StatementLimit.this.running.remove(this);
		}

	}

}
