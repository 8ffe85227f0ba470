package dev.idempotency.schedules;

import java.util.UUID;

/**
 * A claim that the store has granted to a process.
 */
final class SeenClaim {

	private final String process;

	private final UUID token;

	private final int fence;

	// A handler runs on the thread that has claimed its key. After an eviction, two claims
	// of a process may have the same fencing token.
	private final Thread thread = Thread.currentThread();

	private final int acquiredAt;

	private boolean released;

	private boolean completed;

	SeenClaim(String process, UUID token, int fence, int acquiredAt) {
		this.process = process;
		this.token = token;
		this.fence = fence;
		this.acquiredAt = acquiredAt;
	}

	boolean isOf(String owner, int number) {
		return this.process.equals(owner) && this.fence == number && this.thread == Thread.currentThread();
	}

	boolean has(UUID other) {
		return this.token.equals(other);
	}

	int acquiredAt() {
		return this.acquiredAt;
	}

	boolean isReleased() {
		return this.released;
	}

	void release() {
		this.released = true;
	}

	boolean isCompleted() {
		return this.completed;
	}

	void complete() {
		this.completed = true;
	}

}
