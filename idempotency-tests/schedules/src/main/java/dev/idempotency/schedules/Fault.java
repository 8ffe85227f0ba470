/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

/**
 * A fault of a store call.
 */
enum Fault {

	/**
	 * The call succeeds.
	 */
	NONE,

	/**
	 * The store is unavailable and has done nothing.
	 */
	NO_EFFECT,

	/**
	 * The store has done it, and is then unavailable.
	 */
	LOST_ANSWER,

	/**
	 * The call takes a long time before its effect.
	 */
	DELAY,

	/**
	 * The call takes a long time after its effect.
	 */
	LATE_ANSWER,

	/**
	 * The store refuses the call. In a call for several keys, it has done a part.
	 */
	REFUSAL,

	/**
	 * A concurrent transaction holds the key.
	 */
	CONTENTION,

	/**
	 * The client of the store throws an {@link Error} before the effect.
	 */
	ERROR,

	/**
	 * The client of the store throws an {@link Error} after the effect.
	 */
	LATE_ERROR,

	/**
	 * The store evicts the keys, and then executes the call.
	 */
	EVICTION

}
