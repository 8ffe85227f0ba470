/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.ArrayList;
import java.util.List;

/**
 * The events of one key, with their numbers in the order of the schedule.
 */
final class KeyHistory {

	final List<SeenClaim> claims = new ArrayList<>();

	final List<Execution> executions = new ArrayList<>();

	// The number of reports that an execution was processed.
	int reported;

	// The last completion that the store has recorded.
	int completed;

	// The last time the store has forgotten the key.
	int forgotten;

	// The last time another owner was allowed to run the operation again: a lease has
	// expired and was taken over, or the key was forgotten or released by hand.
	int excused;

	// The last eviction whose answer the administrator has received.
	int evicted;

	int evictionAnswered;

	// Other instances may use what they have read before for a short time.
	String evictedBy;

	// The last delivery that was acknowledged.
	int acknowledged;

}
