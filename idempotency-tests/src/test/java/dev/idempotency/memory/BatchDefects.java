/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Stores that treat several keys differently from one key.
 */
final class BatchDefects {

	private BatchDefects() {
	}

	private static <T> List<T> reversed(List<T> list) {
		List<T> reversed = new ArrayList<>(list);
		Collections.reverse(reversed);
		return reversed;
	}

	static IdempotencyStore returnsClaimsInReverse() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return reversed(super.claim(requests));
			}

		};
	}

	static IdempotencyStore returnsSettlementsInReverse() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				return reversed(super.settle(endings));
			}

		};
	}

	static IdempotencyStore losesAllWithOne() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				boolean failed = endings.size() > 1 && endings.get(0) instanceof Ending.Failed;
				boolean ours = !failed
						|| endings.stream().allMatch((ending) -> renew(ending.claim()) == Settlement.SETTLED);
				return ours ? super.settle(endings) : endings.stream().map((ending) -> Settlement.LOST).toList();
			}

		};
	}

	static IdempotencyStore settlesAllWithOne() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				return super.settle(endings.stream()
					.map((ending) -> (ending instanceof Ending.Completed completed)
							? new Ending.Completed(owner(completed.claim()), completed.result()) : ending)
					.toList());
			}

		};
	}

	static IdempotencyStore keepsOneResultForAll() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				return super.settle(endings.stream()
					.map((ending) -> (ending instanceof Ending.Completed
							&& endings.get(0) instanceof Ending.Completed first)
									? new Ending.Completed(ending.claim(), first.result()) : ending)
					.toList());
			}

		};
	}

	static IdempotencyStore settlesAllInTheWayOfTheFirst() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				return super.settle(endings.stream()
					.map((ending) -> (endings.get(0) instanceof Ending.Completed first)
							? new Ending.Completed(ending.claim(), first.result()) : ending)
					.toList());
			}

		};
	}

	static IdempotencyStore claimsDuplicatesAgain() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return super.claim(requests).stream()
					.map((claim) -> (claim instanceof Claim.Completed) ? new Claim.Acquired(9, 1) : claim)
					.toList();
			}

		};
	}

	static IdempotencyStore keepsOneLeaseForAll() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return super.claim(requests.stream()
					.map((request) -> with(request, requests.get(0).lease(), requests.get(0).retention()))
					.toList());
			}

		};
	}

	static IdempotencyStore keepsOneFingerprintForAll() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return super.claim(requests.stream()
					.map((request) -> new ClaimRequest(request.key(), request.token(), requests.get(0).fingerprint(),
							request.lease(), request.retention()))
					.toList());
			}

		};
	}

	static IdempotencyStore comparesContentOfFreeKeys() {
		return new DelegatingStore() {

			private final Map<IdempotencyKey, byte[]> contents = new ConcurrentHashMap<>();

			@Override
			Claim claim(ClaimRequest request) {
				remember(request);
				return super.claim(request);
			}

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return requests.stream()
					.map((request) -> remember(request) ? super.claim(request) : new Claim.Mismatch())
					.toList();
			}

			private boolean remember(ClaimRequest request) {
				byte[] content = request.fingerprint();
				byte[] known = (content != null) ? this.contents.putIfAbsent(request.key(), content) : null;
				return known == null || Arrays.equals(known, content);
			}

		};
	}

	static IdempotencyStore claimsWithTokensOfItsOwn() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				return super.claim(requests.stream()
					.map((request) -> new ClaimRequest(request.key(), UUID.randomUUID(), request.fingerprint(),
							request.lease(), request.retention()))
					.toList());
			}

		};
	}

	static IdempotencyStore looksForFreeKeysBeforeItWrites() {
		return new DelegatingStore() {

			@Override
			public List<Claim> claim(List<ClaimRequest> requests) {
				List<ClaimRequest> absent = requests.stream()
					.filter((request) -> find(request.key()).isEmpty())
					.toList();
				LockSupport.parkNanos(100_000);
				absent.forEach((request) -> release(owner(request)));
				return super.claim(requests);
			}

		};
	}

	static IdempotencyStore refusesToSettleAgain() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> settle(List<Ending> endings) {
				boolean released = endings.size() > 1 && endings.get(0) instanceof Ending.Released;
				return endings.stream()
					.map((ending) -> (released && !isLive(ending.claim())) ? Settlement.LOST : settle(ending))
					.toList();
			}

			private boolean isLive(ClaimRequest claim) {
				return find(claim.key()).filter((record) -> record.state() == IdempotencyRecord.State.IN_PROGRESS)
					.isPresent();
			}

		};
	}

	static IdempotencyStore settlesClaimsOfOneKeyAlike() {
		return new DelegatingStore() {

			@Override
			public List<Settlement> renew(List<ClaimRequest> claims) {
				List<Settlement> answers = super.renew(claims);
				Set<IdempotencyKey> settled = IntStream.range(0, claims.size())
					.filter((i) -> answers.get(i) == Settlement.SETTLED)
					.mapToObj((i) -> claims.get(i).key())
					.collect(Collectors.toSet());
				return claims.stream()
					.map((claim) -> settled.contains(claim.key()) ? Settlement.SETTLED : Settlement.LOST)
					.toList();
			}

		};
	}

}
