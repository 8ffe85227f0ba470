/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Stores that confuse the owners of a key.
 */
final class FencingDefects {

	private FencingDefects() {
	}

	static IdempotencyStore completesForAnyToken() {
		return new DelegatingStore() {

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				return super.complete(owner(claim), result);
			}

		};
	}

	static IdempotencyStore failsForAnyToken() {
		return new DelegatingStore() {

			@Override
			Settlement fail(ClaimRequest claim, Failure failure) {
				return super.fail(owner(claim), failure);
			}

		};
	}

	static IdempotencyStore releasesForAnyToken() {
		return new DelegatingStore() {

			@Override
			Settlement release(ClaimRequest claim) {
				return super.release(owner(claim));
			}

		};
	}

	static IdempotencyStore renewsForAnyToken() {
		return new DelegatingStore() {

			@Override
			Settlement renew(ClaimRequest claim) {
				return super.renew(owner(claim));
			}

		};
	}

	static IdempotencyStore failsForAnyTokenAndReturnsLost() {
		return new DelegatingStore() {

			@Override
			Settlement fail(ClaimRequest claim, Failure failure) {
				super.fail(owner(claim), failure);
				return owner(claim).token().equals(claim.token()) ? Settlement.SETTLED : Settlement.LOST;
			}

		};
	}

	static IdempotencyStore tellsEverybodySettled() {
		return new DelegatingStore() {

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				super.complete(claim, result);
				return Settlement.SETTLED;
			}

		};
	}

	static IdempotencyStore looksForTheOwnerBeforeItWrites() {
		return new DelegatingStore() {

			@Override
			Settlement fail(ClaimRequest claim, Failure failure) {
				if (!owns(claim)) {
					return super.fail(claim, failure);
				}
				LockSupport.parkNanos(100_000);
				return super.fail(owner(claim), failure);
			}

			@Override
			Settlement release(ClaimRequest claim) {
				if (!owns(claim)) {
					return super.release(claim);
				}
				LockSupport.parkNanos(100_000);
				return super.release(owner(claim));
			}

		};
	}

	static IdempotencyStore looksForAFreeKeyBeforeItWrites() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				IdempotencyRecord known = find(request.key()).orElse(null);
				if (known == null || known.state() == State.FAILED
						|| known.claimedUntil() != null && known.claimedUntil().isBefore(Instant.now())) {
					LockSupport.parkNanos(100_000);
					super.release(owner(request));
				}
				return super.claim(request);
			}

		};
	}

	static IdempotencyStore startsFencesAnew() {
		return new DelegatingStore() {

			@Override
			Claim claim(ClaimRequest request) {
				Claim claim = super.claim(request);
				return (claim instanceof Claim.Acquired acquired) ? new Claim.Acquired(1, acquired.attempt()) : claim;
			}

		};
	}

	static IdempotencyStore reportsForgottenKeysAsLost() {
		return new DelegatingStore() {

			@Override
			Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
				Settlement settlement = super.complete(claim, result);
				return (settlement == Settlement.FORGOTTEN) ? Settlement.LOST : settlement;
			}

		};
	}

	static IdempotencyStore restoresOverTheRecordsOfOthers() {
		return new DelegatingStore() {

			@Override
			public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
				if (super.restore(claim, acquired) == Settlement.LOST) {
					release(owner(claim));
					claim(claim);
				}
				return Settlement.SETTLED;
			}

		};
	}

	static IdempotencyStore restoresWithANewFence() {
		return new DelegatingStore() {

			@Override
			public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
				return super.restore(claim, new Claim.Acquired(1, 1));
			}

		};
	}

	static IdempotencyStore restoresWhatTheOwnerHasFreed() {
		return new DelegatingStore() {

			@Override
			public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
				Settlement settlement = super.restore(claim, acquired);
				return (settlement == Settlement.LOST && owns(claim) && claim(claim) instanceof Claim.Acquired)
						? Settlement.SETTLED : settlement;
			}

		};
	}

}
