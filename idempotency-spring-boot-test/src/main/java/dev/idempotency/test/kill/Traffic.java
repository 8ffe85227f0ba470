/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

/**
 * Sends the operations of one round.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface Traffic {

	/**
	 * Send operations, more than the application can process at once, and return when the
	 * broker has acknowledged them. The harness calls this in a thread of its own and
	 * interrupts a process meanwhile or afterwards. A request to a process may therefore
	 * fail: catch the exception.
	 * @param round the round, which records the keys of the operations that were sent
	 * @throws Exception if the operations cannot be sent, which ends the run
	 */
	void send(Round round) throws Exception;

}
