/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Set;
import java.util.concurrent.ExecutionException;

/**
 * Sends records.
 */
interface Traffic {

	void send(int count) throws InterruptedException, ExecutionException;

	// The keys of all operations that were sent so far.
	Set<String> keys();

}
