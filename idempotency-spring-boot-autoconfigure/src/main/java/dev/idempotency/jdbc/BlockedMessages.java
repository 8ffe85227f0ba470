package dev.idempotency.jdbc;

import java.time.Duration;

import dev.idempotency.outbox.OnRefused;

/**
 * Makes messages pending again whose dead letter was retried or discarded. That is a task
 * of the relay and not of whoever does so: a claim may be blocking further messages at
 * the same time.
 */
final class BlockedMessages {

	// Others may retry and discard, too.
	private static final Duration INTERVAL = Duration.ofSeconds(5);

	// One statement changes so many.
	private static final int LIMIT = 1000;

	private final Connections connections;

	private final Duration timeout;

	private final String statement;

	private volatile long dueAt = System.nanoTime() + INTERVAL.toNanos();

	BlockedMessages(Connections connections, Duration timeout, OutboxSql sql, OnRefused onRefused) {
		this.connections = connections;
		this.timeout = timeout;
		this.statement = (onRefused == OnRefused.SKIP) ? sql.unblockAll() : sql.unblock();
	}

	/**
	 * Look before the next claim.
	 */
	void changed() {
		this.dueAt = System.nanoTime();
	}

	void unblock() {
		long now = System.nanoTime();
		if (now - this.dueAt < 0) {
			return;
		}
		this.dueAt = now + INTERVAL.toNanos();
		int unblocked = this.connections.autonomous(this.timeout,
				(connection) -> Connections.update(connection, this.statement, LIMIT));
		if (unblocked > 0) {
			// There may be more, and some that wait for those.
			changed();
		}
	}

}
