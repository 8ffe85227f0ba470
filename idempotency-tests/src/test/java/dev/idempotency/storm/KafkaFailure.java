/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;

import dev.idempotency.testsupport.KafkaCluster;
import dev.idempotency.testsupport.TestApp;

/**
 * Three brokers, of which the coordinator of the consumer group is killed or frozen.
 */
final class KafkaFailure implements Failure {

	private static final Duration FROZEN = Duration.ofSeconds(15);

	private final KafkaCluster kafka = new KafkaCluster();

	private final boolean freeze;

	KafkaFailure(boolean freeze) {
		this.freeze = freeze;
	}

	@Override
	public KafkaCluster kafka() {
		return this.kafka;
	}

	@Override
	public TestApp configure(TestApp app) {
		return app.with("idempotency.store.type", "jdbc")
			.with("spring.kafka.bootstrap-servers", this.kafka.bootstrapServers());
	}

	@Override
	public long happen(TrialRun run, String group) throws InterruptedException {
		int broker = this.kafka.coordinator(group);
		long failed = System.currentTimeMillis();
		if (this.freeze) {
			this.kafka.freeze(broker);
			run.goOn(FROZEN);
			this.kafka.resume(broker);
		}
		else {
			this.kafka.stop(broker);
		}
		return failed;
	}

	@Override
	public void close() {
		this.kafka.close();
	}

}
