/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;

/**
 * Stores that compare the versions of a key wrongly.
 */
final class VersionDefects {

	private VersionDefects() {
	}

	static IdempotencyStore ignoresVersions() {
		return claiming((version) -> null);
	}

	static IdempotencyStore comparesVersionsAsFractions() {
		return claiming((version) -> (version != null) ? (long) (double) version : null);
	}

	static IdempotencyStore comparesVersionsWithoutASign() {
		return claiming((version) -> (version != null) ? version + Long.MIN_VALUE : null);
	}

	private static IdempotencyStore claiming(UnaryOperator<@Nullable Long> version) {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return super.claim(request(request));
			}

			@Override
			public Claim lookUp(ClaimRequest request) {
				return super.lookUp(request(request));
			}

			private ClaimRequest request(ClaimRequest request) {
				return new ClaimRequest(request.key(), request.token(), request.fingerprint(), request.lease(),
						request.retention(), version.apply(request.version()));
			}

		};
	}

	static IdempotencyStore treatsEqualVersionsAsStale() {
		return answering((claim, record, request) -> (claim instanceof Claim.Completed && request.version() != null)
				? new Claim.Stale(request.version()) : claim);
	}

	static IdempotencyStore losesTheResultWhenAHigherVersionIsClaimed() {
		return answering(
				(claim, record, request) -> (claim instanceof Claim.Completed && record.state() != State.COMPLETED)
						? new Claim.Completed(null) : claim);
	}

	static IdempotencyStore forgetsTheVersionWhenAHigherOneIsClaimed() {
		return answering(
				(claim, record,
						request) -> ((claim instanceof Claim.Completed || claim instanceof Claim.Stale)
								&& record.state() != State.COMPLETED) ? new Claim.Acquired(record.fence() + 1, 1)
										: claim);
	}

	static IdempotencyStore treatsHigherVersionsAsDuplicates() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				Optional<IdempotencyRecord> record = find(request.key());
				return (record.isPresent() && record.get().state() == State.COMPLETED) ? new Claim.Completed(null)
						: super.claim(request);
			}

		};
	}

	static IdempotencyStore comparesContentOfOtherVersions() {
		Map<IdempotencyKey, byte[]> contents = new ConcurrentHashMap<>();
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				byte[] known = contents.get(request.key());
				if (known != null && !Arrays.equals(known, request.fingerprint())) {
					return new Claim.Mismatch();
				}
				if (request.fingerprint() != null) {
					contents.put(request.key(), request.fingerprint());
				}
				return super.claim(request);
			}

		};
	}

	private static IdempotencyStore answering(Answer answer) {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return changed(super.claim(request), request);
			}

			@Override
			public Claim lookUp(ClaimRequest request) {
				return changed(super.lookUp(request), request);
			}

			private Claim changed(Claim claim, ClaimRequest request) {
				return find(request.key()).map((record) -> answer.of(claim, record, request)).orElse(claim);
			}

		};
	}

	/**
	 * Changes the answer of the correct store.
	 */
	private interface Answer {

		Claim of(Claim claim, IdempotencyRecord record, ClaimRequest request);

	}

}
