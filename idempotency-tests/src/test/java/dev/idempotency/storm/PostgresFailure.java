/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import dev.idempotency.testsupport.ReplicatedPostgres;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A primary that is killed a second after its replication was interrupted, and a standby
 * that is promoted by hand.
 */
final class PostgresFailure implements Failure {

	private static final Duration INTERRUPTED = Duration.ofSeconds(1);

	private final ReplicatedPostgres servers;

	private final boolean synchronous;

	private @Nullable String database;

	private long interrupted;

	PostgresFailure(Path home, boolean synchronous) {
		this.servers = new ReplicatedPostgres(home, synchronous);
		this.synchronous = synchronous;
	}

	@Override
	public String newDatabase() {
		this.database = this.servers.newDatabase();
		return this.database;
	}

	@Override
	public TestApp configure(TestApp app) {
		return app.with("idempotency.store.type", "jdbc");
	}

	@Override
	public long happen(TrialRun run, String group) throws InterruptedException {
		this.interrupted = System.currentTimeMillis();
		this.servers.cutLink();
		run.goOn(INTERRUPTED);
		long killed = System.currentTimeMillis();
		this.servers.killPrimary();
		this.servers.promoteStandby();
		return killed;
	}

	// A key and its effect are lost together: a payment that is sent once more takes
	// effect once.
	@Override
	public void check(PaymentTraffic traffic, TimedCharges once, TimedCharges all) {
		if (this.synchronous) {
			Failure.super.check(traffic, once, all);
			return;
		}
		TimedCharges former = TimedCharges.read(this.servers.formerPrimary(String.valueOf(this.database)));
		Set<String> unreplicated = new HashSet<>();
		former.times().forEach((payment, times) -> {
			if (times.get(0) >= this.interrupted - INTERRUPTED.toMillis()) {
				unreplicated.add(payment);
			}
		});
		assertThat(unreplicated).as("lost, but not charged while the replication was interrupted")
			.containsAll(once.lost(traffic.keys()));
		assertThat(all.lost(traffic.keys())).as("lost although sent once more").isEmpty();
		assertThat(all.doubles()).as("doubled").isZero();
	}

	@Override
	public void close() {
		this.servers.close();
	}

}
