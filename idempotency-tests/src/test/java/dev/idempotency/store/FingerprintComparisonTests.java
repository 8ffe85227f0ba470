/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Fingerprint}.
 */
@Tag("promise-9")
class FingerprintComparisonTests {

	private static final IdempotencyKey KEY = IdempotencyKey.of("scope", "key");

	private static final byte[] CONTENT = "content".getBytes(StandardCharsets.UTF_8);

	private static final byte[] OTHER = "other".getBytes(StandardCharsets.UTF_8);

	@Test
	void fingerprintBeginsWithItsVersion() {
		assertThat(Fingerprint.of(CONTENT)).hasSize(Fingerprint.LENGTH).startsWith(0);
		assertThat(Fingerprint.of(7, CONTENT)).startsWith(7);
		assertThat(Fingerprint.ofMessage(CONTENT)).hasSize(Fingerprint.LENGTH).startsWith(127);
	}

	@Test
	void textIsTheBeginningOfTheDigest() {
		assertThat(Fingerprint.text(CONTENT, 4)).isEqualTo("ed7002b4");
		assertThat(Fingerprint.text(CONTENT, 32)).hasSize(64);
	}

	@Test
	void otherContentOfTheSameVersionDiffers() {
		assertThat(Fingerprint.differs(KEY, Fingerprint.of(CONTENT), Fingerprint.of(OTHER))).isTrue();
		assertThat(Fingerprint.differs(KEY, Fingerprint.of(CONTENT), Fingerprint.of(CONTENT))).isFalse();
	}

	@Test
	void fingerprintsOfDifferentVersionsAreNotCompared() {
		assertThat(Fingerprint.differs(KEY, Fingerprint.of(1, CONTENT), Fingerprint.of(2, OTHER))).isFalse();
	}

	// Otherwise a producer could prevent the report of its own record, by adding the
	// header.
	@Test
	void reportedContentDiffersFromTheFingerprintThatAProducerHasSent() {
		byte[] sent = Fingerprint.ofMessage(CONTENT);
		byte[] reported = Fingerprint.ofReported(1, CONTENT);
		assertThat(Fingerprint.differs(KEY, sent, reported)).isTrue();
		assertThat(Fingerprint.differs(KEY, reported, sent)).isFalse();
		assertThat(Fingerprint.differs(KEY, sent, Fingerprint.of(CONTENT))).isFalse();
	}

	@Test
	void missingFingerprintDoesNotDiffer() {
		assertThat(Fingerprint.differs(KEY, null, Fingerprint.of(CONTENT))).isFalse();
		assertThat(Fingerprint.differs(KEY, Fingerprint.of(CONTENT), null)).isFalse();
	}

	@Test
	void fingerprintWithoutBytesDiffers() {
		assertThat(Fingerprint.differs(KEY, new byte[0], Fingerprint.of(CONTENT))).isTrue();
		assertThat(Fingerprint.differs(KEY, Fingerprint.of(CONTENT), new byte[0])).isTrue();
	}

}
