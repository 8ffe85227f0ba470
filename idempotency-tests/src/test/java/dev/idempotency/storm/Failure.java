/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import org.jspecify.annotations.Nullable;

import dev.idempotency.testsupport.KafkaCluster;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Servers of which one fails, and is replaced by another one.
 */
interface Failure extends AutoCloseable {

	// The database of the charges.
	default String newDatabase() {
		return Servers.newDatabase();
	}

	// The brokers of the payments, null for the shared one.
	default @Nullable KafkaCluster kafka() {
		return null;
	}

	TestApp configure(TestApp app);

	/**
	 * Let a server fail, and wait until another one has taken over.
	 * @param run the run whose traffic continues
	 * @param group the consumer group
	 * @return the time of the failure in milliseconds
	 * @throws Exception if no server has taken over
	 */
	long happen(TrialRun run, String group) throws Exception;

	/**
	 * Assert what the guarantees promise.
	 * @param traffic the payments, which were all sent once more at the end
	 * @param once the charges before the payments were sent once more
	 * @param all the charges at the end
	 */
	default void check(PaymentTraffic traffic, TimedCharges once, TimedCharges all) {
		assertThat(once.lost(traffic.keys())).as("lost").isEmpty();
		assertThat(all.doubles()).as("doubled").isZero();
	}

	@Override
	void close();

}
