/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.UUID;

/**
 * A claim that the store has granted to a process.
 */
final class SeenClaim {

	private final String process;

	private final UUID token;

	private final int fence;

	// A handler runs on the thread that has claimed its key. The fencing token alone may
	// belong to two claims of a process, because an evicted key begins again.
	private final Thread thread = Thread.currentThread();

	private final int acquiredAt;

	private boolean released;

	private boolean completed;

	private boolean answered;

	private boolean restored;

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

	// Whether the owner knows that the claim is completed.
	boolean isAnswered() {
		return this.answered;
	}

	void answer() {
		this.answered = true;
	}

	// Whether the claim was restored after its end.
	boolean isRestored() {
		return this.restored;
	}

	void setRestored(boolean restored) {
		this.restored = restored;
	}

}
