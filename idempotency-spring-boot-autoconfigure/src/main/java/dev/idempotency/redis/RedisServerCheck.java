/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import io.lettuce.core.RedisCommandExecutionException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.SimpleLifecycle;
import dev.idempotency.Threads;

/**
 * Checks the servers of a {@link RedisIdempotencyStore}, see
 * {@link RedisIdempotencyStore#serverCheck}.
 */
final class RedisServerCheck extends SimpleLifecycle {

	private static final Log logger = LogFactory.getLog(RedisServerCheck.class);

	static final Duration INTERVAL = Duration.ofMinutes(5);

	// Opening the first connection takes longer than the timeout of a call.
	private static final Duration FIRST_TIMEOUT = Duration.ofSeconds(10);

	// Connections are opened in groups, and a new master loads its data first.
	private static final Duration DELAY_AFTER_CONNECT = Duration.ofSeconds(1);

	private final RedisIdempotencyStore store;

	private final boolean refuseEviction;

	private final Consumer<Boolean> evictionCallback;

	private final Duration interval;

	private final AtomicBoolean due = new AtomicBoolean();

	private @Nullable ServerFindings latest;

	private volatile @Nullable ScheduledExecutorService executor;

	RedisServerCheck(RedisIdempotencyStore store, boolean refuseEviction, Consumer<Boolean> evictionCallback,
			Duration interval) {
		this.store = store;
		this.refuseEviction = refuseEviction;
		this.evictionCallback = evictionCallback;
		this.interval = interval;
	}

	@Override
	public void start() {
		try {
			ServerFindings findings = this.store.inspect(FIRST_TIMEOUT);
			findings.refusal().ifPresent(RedisServerCheck::fail);
			if (this.refuseEviction) {
				findings.eviction().ifPresent(RedisServerCheck::fail);
			}
			report(findings);
		}
		catch (IdempotencyConfigurationException ex) {
			throw ex;
		}
		catch (RuntimeException ex) {
			requireLogin(ex);
			logger
				.warn("Redis is unavailable at the start of the application. Idempotent listeners are paused until it "
						+ "answers; its permissions and its memory policy are checked then", ex);
		}
		ScheduledExecutorService scheduler = Threads.scheduler("redis-check");
		this.executor = scheduler;
		this.due.set(false);
		scheduler.scheduleWithFixedDelay(this::check, this.interval.toNanos(), this.interval.toNanos(),
				TimeUnit.NANOSECONDS);
		this.store.onConnected(this::checkSoon);
		super.start();
	}

	private static void fail(IdempotencyConfigurationException finding) {
		throw finding;
	}

	// Lettuce reports a wrong password as a failure to connect.
	private static void requireLogin(Throwable failure) {
		RedisCommandExecutionException refusal = ExceptionCauses.find(RedisCommandExecutionException.class, failure);
		String code = (refusal != null) ? ServerFindings.code(refusal) : null;
		if ("NOAUTH".equals(code) || "WRONGPASS".equals(code) || "NOPERM".equals(code)) {
			throw new IdempotencyConfigurationException(
					"Redis refuses the connection of the idempotency store (" + code + ").",
					"Set 'spring.data.redis.username' and 'spring.data.redis.password' to the credentials of a "
							+ "Redis user.");
		}
	}

	private void checkSoon() {
		ScheduledExecutorService scheduler = this.executor;
		if (scheduler == null || !this.due.compareAndSet(false, true)) {
			return;
		}
		try {
			scheduler.schedule(() -> {
				this.due.set(false);
				check();
			}, DELAY_AFTER_CONNECT.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("The check of the Redis servers has been stopped", ex);
		}
	}

	// An exception would end the periodic checks.
	private void check() {
		try {
			report(this.store.inspect(null));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			logger.debug("The Redis servers are unavailable and could not be checked", ex);
		}
		catch (Throwable ex) {
			logger.warn("The permissions and the memory policy of Redis could not be checked; the next check is in "
					+ this.interval, ex);
		}
	}

	private void report(ServerFindings findings) {
		this.store.warn(findings.describe().orElse(null));
		log(findings);
		// last, so that whoever sees the result finds its reason in the log
		if (findings.isEvictionPossible() || !findings.policyHidden()) {
			this.evictionCallback.accept(findings.isEvictionPossible());
		}
	}

	private void log(ServerFindings findings) {
		ServerFindings previous = this.latest;
		this.latest = findings;
		if (findings.equals(previous)) {
			return;
		}
		findings.refusal().map(ServerFindings::describe).ifPresent(logger::error);
		findings.eviction().map(ServerFindings::describe).ifPresent(this.refuseEviction ? logger::error : logger::warn);
		if (previous != null && previous.describe().isPresent() && findings.describe().isEmpty()) {
			logger.info("Redis allows all commands of the idempotency store again, and does not evict keys");
		}
	}

	@Override
	public void stop() {
		super.stop();
		ScheduledExecutorService scheduler = this.executor;
		this.executor = null;
		if (scheduler != null) {
			scheduler.shutdownNow();
		}
	}

}
