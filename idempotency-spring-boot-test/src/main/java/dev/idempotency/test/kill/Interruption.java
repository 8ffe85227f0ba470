/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.Locale;

/**
 * An interruption of a process.
 *
 * @param round the round
 * @param kind what happened
 * @param process the identifier of the process
 * @param pending the pending work right after the process was interrupted
 * @param inFlight whether work was pending or being sent at that moment. An interruption
 * without it shows nothing, and its round is repeated
 * @param at the time since the start of the run
 * @since 0.1.0
 */
public record Interruption(int round, Kind kind, long process, long pending, boolean inFlight, Duration at) {

	/**
	 * The kinds of interruptions.
	 */
	public enum Kind {

		/**
		 * The process was killed with SIGKILL and replaced.
		 */
		KILLED,

		/**
		 * The process was frozen with SIGSTOP and resumed later.
		 */
		FROZEN,

		/**
		 * The process was ended with SIGTERM and replaced, as in a rolling update.
		 */
		TERMINATED;

		String verb() {
			return name().toLowerCase(Locale.ROOT);
		}

	}

	// Whether the process may leave an operation open between its effect and its
	// completion.
	boolean leavesOpen() {
		return this.kind != Kind.TERMINATED;
	}

	String summary() {
		return this.kind.verb() + " in round " + this.round;
	}

}
