/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Stores that measure time wrongly.
 */
final class TimeDefects {

	private TimeDefects() {
	}

	static IdempotencyStore endsLeases(UnaryOperator<Duration> end) {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return super.claim(with(request, end.apply(request.lease()), request.retention()));
			}

			@Override
			Settlement renew(ClaimRequest claim) {
				return super.renew(with(claim, end.apply(claim.lease()), claim.retention()));
			}

		};
	}

	/**
	 * A store without a clock of its own, whose clients have different clocks: those of
	 * two threads differ by a part of the lease, and those of two processes by hours.
	 * @return the store
	 */
	static IdempotencyStore trustsTheClocksOfItsClients() {
		return new DelegatingStore(() -> Instant.now().plus(OtherProcess.clock()).plusMillis(threadSkew()));
	}

	private static long threadSkew() {
		return Thread.currentThread().getName().startsWith("pool-") ? Thread.currentThread().getId() % 2 * 20 : 0;
	}

	static IdempotencyStore endsRetentionAtHalf() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return super.claim(with(request, request.lease(), request.retention().dividedBy(2)));
			}

		};
	}

	static IdempotencyStore countsRetentionFromTheCompletion() {
		return new DelegatingStore() {

			private final Map<IdempotencyKey, Instant> ends = new ConcurrentHashMap<>();

			@Override
			Claim claim(ClaimRequest request) {
				Instant end = this.ends.getOrDefault(request.key(), Instant.MIN);
				return end.isAfter(Instant.now()) ? new Claim.Completed(null) : super.claim(request);
			}

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				this.ends.put(claim.key(), Instant.now().plus(claim.retention()));
				return super.complete(claim, result);
			}

		};
	}

	static IdempotencyStore refusesOwnersOfExpiredClaims() {
		return new DelegatingStore() {

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				boolean late = find(claim.key()).map((record) -> record.claimedUntil())
					.filter((end) -> end.isBefore(Instant.now()))
					.isPresent();
				return late ? Settlement.LOST : super.complete(claim, result);
			}

		};
	}

	static IdempotencyStore renewsOnlyLiveClaims() {
		return new DelegatingStore() {

			@Override
			Settlement renew(ClaimRequest claim) {
				boolean live = find(claim.key()).map((record) -> record.claimedUntil())
					.filter((end) -> end.isAfter(Instant.now()))
					.isPresent();
				return live ? super.renew(claim) : Settlement.LOST;
			}

		};
	}

}
