/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

/**
 * One run of a handler.
 */
final class Execution {

	private final String process;

	private final String result;

	private final SeenClaim claim;

	private boolean running = true;

	private boolean effective;

	Execution(String process, String result, SeenClaim claim) {
		this.process = process;
		this.result = result;
		this.claim = claim;
	}

	String result() {
		return this.result;
	}

	SeenClaim claim() {
		return this.claim;
	}

	boolean isRunning() {
		return this.running;
	}

	// Whether the handler has returned, and its transaction is not rolled back.
	boolean isEffective() {
		return this.effective;
	}

	void end(boolean effective) {
		this.running = false;
		this.effective = effective;
	}

	void undo() {
		this.effective = false;
	}

	@Override
	public String toString() {
		return this.result + " of " + this.process;
	}

}
