/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.io.IOException;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Failure}.
 */
class FailureTests {

	@Test
	void failureOfAnErrorHasItsClassAndMessage() {
		assertThat(Failure.of(new IOException("no route"))).isEqualTo(new Failure("java.io.IOException", "no route"));
	}

	@Test
	void errorWithoutMessageHasNone() {
		assertThat(Failure.of(new IOException()).message()).isNull();
	}

	@Test
	void errorWhoseMessageCannotBeReadHasNone() {
		RuntimeException error = new RuntimeException() {

			@Override
			public String getMessage() {
				throw new IllegalStateException("unreadable");
			}

		};
		assertThat(Failure.of(error)).isEqualTo(new Failure(error.getClass().getName(), null));
	}

	@Test
	void longMessageIsCut() {
		assertThat(new Failure("x", "m".repeat(501)).message()).isEqualTo("m".repeat(500));
	}

	@Test
	void longTypeIsCut() {
		assertThat(new Failure("t".repeat(501), null).type()).isEqualTo("t".repeat(500));
	}

	@Test
	void nulCharactersAreRemoved() {
		assertThat(new Failure("a\0b", "c\0d")).isEqualTo(new Failure("ab", "cd"));
	}

	@Test
	void loneSurrogatesAreRemoved() {
		assertThat(new Failure("x", "a\uD83Db\uDE80c").message()).isEqualTo("abc");
	}

	@Test
	void surrogatePairsAreNotCutInHalf() {
		assertThat(new Failure("x", "a" + "\uD83D\uDE80".repeat(500)).message())
			.isEqualTo("a" + "\uD83D\uDE80".repeat(499));
	}

}
