/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.provider.Arguments;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.StoredRecord;
import dev.idempotency.store.Transition;

/**
 * The mutations by an owner.
 */
enum Mutation {

	COMPLETE, FAIL, RELEASE, RENEW;

	Settlement apply(IdempotencyStore store, ClaimRequest claim) {
		return applyAll(store, List.of(claim)).get(0);
	}

	Transition<Settlement> transition(@Nullable StoredRecord record, ClaimRequest claim, Instant now) {
		return (this == RENEW) ? Transition.renew(record, claim, now) : Transition.settle(record, ending(claim), now);
	}

	List<Settlement> applyAll(IdempotencyStore store, List<ClaimRequest> claims) {
		return (this == RENEW) ? store.renew(claims) : store.settle(claims.stream().map(this::ending).toList());
	}

	Ending ending(ClaimRequest claim) {
		return switch (this) {
			case COMPLETE -> new Ending.Completed(claim, claim.token().toString().getBytes());
			case FAIL -> new Ending.Failed(claim, Requests.FAILURE);
			case RELEASE -> new Ending.Released(claim);
			case RENEW -> throw new IllegalStateException("A renewal does not end a claim");
		};
	}

	static Stream<Arguments> ofEachKnown() {
		return Arrays.stream(Known.values())
			.flatMap((known) -> Arrays.stream(values()).map((mutation) -> Arguments.of(known, mutation)));
	}

}
