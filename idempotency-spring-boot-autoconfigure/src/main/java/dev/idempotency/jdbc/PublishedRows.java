package dev.idempotency.jdbc;

import java.time.Duration;

import dev.idempotency.store.ExpiredRecords;

/**
 * The messages of an outbox whose publication is long ago.
 *
 * @param table the name of the table
 * @param rows deletes them
 */
record PublishedRows(String table, ExpiredRows rows) implements ExpiredRecords {

	@Override
	public int deleteExpired(int limit, Duration pause) {
		return this.rows.delete(limit, pause);
	}

	@Override
	public Duration backlogAge() {
		return this.rows.backlogAge();
	}

}
