/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;

import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A Redis server that is killed and restarted.
 */
final class RedisRestarts implements Failure {

	static final Duration PAUSE = Duration.ofSeconds(2);

	// A key is completed soon after the charge. A busy machine needs more.
	private static final long TOLERANCE = 1000;

	private static final String COMPLETED = "idem1 C ";

	private final List<Outage> outages = new ArrayList<>();

	private final RedisProcess redis;

	private final boolean cut;

	private final Duration forgets;

	/**
	 * Create the restarts.
	 * @param redis the server, which has no other keys
	 * @param cut whether the last changes before each kill are removed
	 * @param forgets the time before a kill whose keys may be forgotten
	 */
	RedisRestarts(RedisProcess redis, boolean cut, Duration forgets) {
		this.redis = redis;
		this.cut = cut;
		this.forgets = forgets;
	}

	@Override
	public TestApp configure(TestApp app) {
		return app.redis(this.redis);
	}

	@Override
	public long happen(TrialRun run, String group) throws InterruptedException, IOException {
		run.goOn(PAUSE);
		long size = this.cut ? Files.size(this.redis.appendOnlyFile()) : 0;
		run.goOn(PAUSE);
		long kill = System.currentTimeMillis();
		this.redis.stop();
		if (this.cut) {
			try (FileChannel file = FileChannel.open(this.redis.appendOnlyFile(), StandardOpenOption.WRITE)) {
				file.truncate(size);
			}
		}
		this.redis.start();
		this.outages.add(new Outage(kill, System.currentTimeMillis()));
		return kill;
	}

	// The number of keys whose completion the server remembers. It may remember a claim
	// without its completion.
	long completed() {
		try (RedisClient client = RedisClient.create(RedisURI.create(this.redis.host(), this.redis.port()))) {
			RedisCommands<String, String> commands = client.connect(StringCodec.ASCII).sync();
			return commands.keys("*")
				.stream()
				.map(commands::get)
				.filter((value) -> value != null && value.startsWith(COMPLETED))
				.count();
		}
	}

	@Override
	public void check(PaymentTraffic traffic, TimedCharges once, TimedCharges all) {
		assertThat(once.lost(traffic.keys())).as("lost").isEmpty();
		assertThat(all.unexplained(this::isForgettable)).as("doubled, but not charged before a restart").isEmpty();
	}

	private boolean isForgettable(long charge) {
		return this.outages.stream()
			.anyMatch((outage) -> charge > outage.kill() - this.forgets.toMillis() - TOLERANCE
					&& charge < outage.end() + TOLERANCE);
	}

	@Override
	public void close() {
		this.redis.stop();
	}

	/**
	 * An outage of the server.
	 *
	 * @param kill its beginning in milliseconds
	 * @param end its end
	 */
	private record Outage(long kill, long end) {

	}

}
