/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.store.IdempotencyStore.Settlement;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Transition}: all reachable states.
 */
@Tag("promise-2")
@Tag("promise-3")
@Tag("promise-4")
class TransitionTests {

	private static final Log logger = LogFactory.getLog(TransitionTests.class);

	// A transition concerns one key, so the states of several keys are all combinations
	// of these. A claim ahead is a completion and a claim of another key, whose answers
	// arrive or are lost together.
	@ParameterizedTest
	@MethodSource
	void noReachableStateViolatesTheContract(List<@Nullable Long> versions) {
		Exploration exploration = new Exploration(new TransitionRules(), 1, versions, true);
		assertThat(exploration.run()).isNull();
		logger
			.info("Two owners, each with claims of the versions " + versions + ": " + exploration.states() + " states");
	}

	static Stream<List<@Nullable Long>> noReachableStateViolatesTheContract() {
		return Stream.of(Arrays.asList(null, null), Arrays.asList(2L, 1L));
	}

	@ParameterizedTest
	@MethodSource
	void wrongTransitionIsFound(TransitionRules wrong) {
		assertThat(new Exploration(wrong, 1, Arrays.asList(null, null), true).run()).isNotNull();
	}

	static Stream<Arguments> wrongTransitionIsFound() {
		return Stream.of(Arguments.of(Named.of("completion without a check of the token", new TransitionRules() {

			@Override
			Transition<Settlement> complete(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
				return super.complete(current, (current != null) ? owner(current, claim) : claim, now);
			}

		})), Arguments.of(Named.of("expiry that is compared the wrong way", new TransitionRules() {

			@Override
			Transition<Claim> claim(@Nullable StoredRecord current, ClaimRequest request, Instant now) {
				return super.claim((current != null) ? current.renewed(mirrored(current, now)) : null, request, now);
			}

		})), Arguments.of(Named.of("restore over a completion", new TransitionRules() {

			@Override
			Transition<Settlement> restore(@Nullable StoredRecord current, ClaimRequest claim, Claim.Acquired acquired,
					Instant now) {
				return super.restore((current != null && current.isCompleted()) ? null : current, claim, acquired, now);
			}

		})));
	}

	private static ClaimRequest owner(StoredRecord current, ClaimRequest claim) {
		return new ClaimRequest(claim.key(), current.token(), claim.fingerprint(), claim.lease(), claim.retention(),
				claim.version());
	}

	private static Instant mirrored(StoredRecord current, Instant now) {
		return now.minus(Duration.between(now, current.claimedUntil()));
	}

}
