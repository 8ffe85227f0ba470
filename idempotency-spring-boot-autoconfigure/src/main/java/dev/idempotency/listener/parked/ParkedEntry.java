package dev.idempotency.listener.parked;

import java.time.Duration;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotencyListener.Parked;
import dev.idempotency.template.IdempotencyListener.ParkedOutcome;

/**
 * A parked record in memory, without its bytes. Its state is used on the thread of the
 * worker only.
 */
final class ParkedEntry {

	private final UUID id;

	private final Object key;

	private final Parked description;

	private long due = System.nanoTime();

	private @Nullable ParkedOutcome outcome;

	/**
	 * Create an entry.
	 */
	ParkedEntry(UUID id, Object key, Parked description) {
		this.id = id;
		this.key = key;
		this.description = description;
	}

	UUID id() {
		return this.id;
	}

	Object key() {
		return this.key;
	}

	Parked description() {
		return this.description;
	}

	/**
	 * Return the time until the record should be processed.
	 */
	long nanosUntilDue() {
		return this.due - System.nanoTime();
	}

	void delay(Duration delay) {
		this.due = System.nanoTime() + delay.toNanos();
	}

	/**
	 * Note that the record is done, so that only its row is left to delete.
	 */
	void done(ParkedOutcome done) {
		this.outcome = done;
	}

	@Nullable ParkedOutcome outcome() {
		return this.outcome;
	}

	@Override
	public String toString() {
		return "topic " + this.description.topic() + ", partition " + this.description.partition() + ", offset "
				+ this.description.offset();
	}

}
