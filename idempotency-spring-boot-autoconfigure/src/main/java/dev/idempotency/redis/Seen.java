package dev.idempotency.redis;

import java.time.Instant;

import dev.idempotency.store.IdempotencyRecord;

/**
 * A record that was met on the way through all keys.
 *
 * @param record the record
 * @param stuck whether it is a claim that has run out
 * @param now the time of the server
 */
record Seen(IdempotencyRecord record, boolean stuck, Instant now) {

	boolean isLive() {
		return this.record.state() == IdempotencyRecord.State.IN_PROGRESS && !this.stuck;
	}

}
