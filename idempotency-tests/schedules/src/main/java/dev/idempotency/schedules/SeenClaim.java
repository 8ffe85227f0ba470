package dev.idempotency.schedules;

import java.util.UUID;

/**
 * A claim that the store has granted to a process.
 */
final class SeenClaim {

	private final String process;

	private final UUID token;

	private final int fence;

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
		return this.process.equals(owner) && this.fence == number;
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
