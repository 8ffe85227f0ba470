/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.Set;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link UnavailableTopics}.
 */
class UnavailableTopicsTests {

	private static final Exception ERROR = new IllegalStateException();

	private long now;

	private final UnavailableTopics topics = new UnavailableTopics("outbox", () -> this.now);

	private void assertExcludedFor(int seconds) {
		this.now += Duration.ofSeconds(seconds).minusMillis(1).toNanos();
		assertThat(this.topics.excluded()).containsExactly("sick");
		assertThat(this.topics.isExcluded("sick")).isTrue();
		this.now += Duration.ofMillis(2).toNanos();
		assertThat(this.topics.excluded()).isEmpty();
		assertThat(this.topics.isExcluded("sick")).isFalse();
	}

	private void fail() {
		this.topics.fail("sick", ERROR);
		// Another message of the same round.
		this.topics.fail("sick", ERROR);
	}

	@Test
	void exclusionDoublesWithEachFailure() {
		for (int seconds : new int[] { 5, 10, 20, 40, 80, 160, 160 }) {
			fail();
			assertExcludedFor(seconds);
		}
	}

	@Test
	void pauseEndsWithAnExclusion() {
		assertThat(this.topics.pause(Duration.ofHours(1))).isEqualTo(Duration.ofHours(1));
		fail();
		assertThat(this.topics.pause(Duration.ofSeconds(1))).isEqualTo(Duration.ofSeconds(1));
		assertThat(this.topics.pause(Duration.ofHours(1))).isEqualTo(Duration.ofSeconds(5));
		assertExcludedFor(5);
		assertThat(this.topics.pause(Duration.ofHours(1))).isEqualTo(Duration.ofHours(1));
	}

	@Test
	void failuresAreForgottenWhenTheTopicWorksAgain() {
		fail();
		assertExcludedFor(5);
		this.topics.update(Set.of("sick"), Set.of());
		fail();
		assertExcludedFor(5);
	}

	@Test
	void exclusionStaysShortWhenOnlySomePartitionsFail() {
		for (int times = 0; times < 3; times++) {
			fail();
			this.topics.update(Set.of("sick"), Set.of("sick"));
			assertExcludedFor(5);
		}
	}

	@Test
	void failuresAreForgottenWhenTheBrokerWasTheCause() {
		fail();
		assertExcludedFor(5);
		this.topics.retryAll();
		assertThat(this.topics.excluded()).isEmpty();
		fail();
		assertExcludedFor(5);
	}

	@Test
	void topicIsTheCauseWhenOthersHaveWorkedSinceItsFailure() {
		fail();
		assertThat(this.topics.explain(Set.of("sick"))).isFalse();
		this.topics.update(Set.of("other"), Set.of());
		assertThat(this.topics.explain(Set.of("sick"))).isTrue();
		assertThat(this.topics.explain(Set.of("sick", "unknown"))).isFalse();
		this.topics.update(Set.of("sick"), Set.of());
		assertThat(this.topics.explain(Set.of("sick"))).isFalse();
	}

}
