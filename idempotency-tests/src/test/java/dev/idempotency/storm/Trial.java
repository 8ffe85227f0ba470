/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import dev.idempotency.test.kill.ChildApplication;

/**
 * An application that consumes payments from servers that may fail.
 */
interface Trial extends AutoCloseable {

	ChildApplication application();

	PaymentTraffic traffic();

	// The number of charges.
	long effects();

	// The number of records that are not consumed yet.
	long lag();

	@Override
	void close();

}
