/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Stores that store wrong content.
 */
final class ContentDefects {

	private ContentDefects() {
	}

	static IdempotencyStore ignoresFingerprints() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return super.claim(
						new ClaimRequest(request.key(), request.token(), null, request.lease(), request.retention()));
			}

		};
	}

	static IdempotencyStore comparesContentOfFreeKeys() {
		return new DelegatingStore() {

			private final Map<IdempotencyKey, byte[]> contents = new ConcurrentHashMap<>();

			@Override
			Claim claim(ClaimRequest request) {
				byte[] content = request.fingerprint();
				byte[] known = (content != null) ? this.contents.putIfAbsent(request.key(), content) : null;
				return (known != null && !Arrays.equals(known, content)) ? new Claim.Mismatch() : super.claim(request);
			}

		};
	}

	static IdempotencyStore comparesVersions() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				byte[] content = request.fingerprint();
				return super.claim(new ClaimRequest(request.key(), request.token(),
						(content != null) ? Fingerprint.of(content) : null, request.lease(), request.retention()));
			}

		};
	}

	static IdempotencyStore ignoresContentOfLiveClaims() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				Claim claim = super.claim(request);
				return (claim instanceof Claim.Mismatch && record(request).state() == State.IN_PROGRESS)
						? new Claim.InProgress(Duration.ZERO) : claim;
			}

			private IdempotencyRecord record(ClaimRequest request) {
				return find(request.key()).orElseThrow();
			}

		};
	}

	static IdempotencyStore ignoresScopes() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				return super.claim(new ClaimRequest(IdempotencyKey.of("contract", request.key().value()),
						request.token(), request.fingerprint(), request.lease(), request.retention()));
			}

		};
	}

	static IdempotencyStore treatsRepeatedClaimsAsThoseOfAnotherOwner() {
		return new DelegatingStore() {

			private final Set<UUID> tokens = ConcurrentHashMap.newKeySet();

			@Override
			Claim claim(ClaimRequest request) {
				UUID token = this.tokens.add(request.token()) ? request.token() : UUID.randomUUID();
				return super.claim(new ClaimRequest(request.key(), token, request.fingerprint(), request.lease(),
						request.retention()));
			}

		};
	}

	static IdempotencyStore countsRepeatedClaimsTwice() {
		return new DelegatingStore() {

			private final Set<UUID> tokens = ConcurrentHashMap.newKeySet();

			@Override
			Claim claim(ClaimRequest request) {
				Claim claim = super.claim(request);
				return (!(claim instanceof Claim.Acquired) || this.tokens.add(request.token())) ? claim
						: again(request);
			}

			private Claim again(ClaimRequest request) {
				super.fail(request, new Failure("repeated", null));
				return super.claim(request);
			}

		};
	}

	// A client repeats a request whose answer it has not received.
	static IdempotencyStore countsRequestsThatTheClientRepeats() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				Claim lost = super.claim(request);
				if (lost instanceof Claim.Acquired && ThreadLocalRandom.current().nextInt(4) == 0) {
					super.fail(request, new Failure("repeated", null));
					return super.claim(request);
				}
				return lost;
			}

		};
	}

	static IdempotencyStore losesRepeatedFailures() {
		return new DelegatingStore() {

			private final Set<UUID> failed = ConcurrentHashMap.newKeySet();

			@Override
			Settlement fail(ClaimRequest claim, Failure failure) {
				return this.failed.add(claim.token()) ? super.fail(claim, failure) : Settlement.LOST;
			}

		};
	}

	static IdempotencyStore countsReleasedAttempts() {
		return new DelegatingStore() {

			@Override
			Settlement release(ClaimRequest claim) {
				return super.fail(claim, new Failure("released", null));
			}

		};
	}

	static IdempotencyStore treatsEmptyResultsAsNone() {
		return new DelegatingStore() {

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				return super.complete(claim, (result != null && result.length > 0) ? result : null);
			}

		};
	}

	static IdempotencyStore returnsRenewalsInReverse() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> renew(List<ClaimRequest> claims) {
				List<Settlement> answers = new ArrayList<>(super.renew(claims));
				Collections.reverse(answers);
				return answers;
			}

		};
	}

}
