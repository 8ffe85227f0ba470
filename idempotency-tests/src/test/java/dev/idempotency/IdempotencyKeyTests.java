/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.security.MessageDigest;
import java.util.UUID;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link IdempotencyKey}.
 */
@Tag("promise-10")
class IdempotencyKeyTests {

	@ParameterizedTest
	@NullAndEmptySource
	@ValueSource(strings = { " ", "\t\n" })
	void blankTextIsRefused(String text) {
		assertThat(IdempotencyKey.problem(text)).isEqualTo("is blank");
		assertThatIllegalArgumentException().isThrownBy(() -> IdempotencyKey.of("scope", text))
			.withMessage("'value' is blank");
		assertThatIllegalArgumentException().isThrownBy(() -> IdempotencyKey.of(text, "value"))
			.withMessage("'scope' is blank");
	}

	@Test
	void longestTextIsAccepted() {
		assertThat(IdempotencyKey.problem("x".repeat(512))).isNull();
	}

	@Test
	void longerTextIsRefused() {
		assertThat(IdempotencyKey.problem("x".repeat(513))).isEqualTo("has 513 characters, more than 512");
	}

	@Test
	void controlCharacterIsRefused() {
		assertThat(IdempotencyKey.problem("a\0b")).isEqualTo("has a control character");
		assertThat(IdempotencyKey.problem("a\nb")).isEqualTo("has a control character");
	}

	// A line break forges a line of the log, and an escape sequence controls a terminal.
	@ParameterizedTest
	@ValueSource(strings = { "\r", "\n", "\u0085", "\u001B[31m", "\u009B31m", "\b", "\u007F" })
	void textThatControlsALogOrATerminalIsRefused(String text) {
		assertThat(IdempotencyKey.problem("a" + text)).isEqualTo("has a control character");
	}

	@ParameterizedTest
	@ValueSource(strings = { "a\uD83D", "\uDE80a", "\uDE80\uD83D" })
	void loneSurrogateIsRefused(String text) {
		assertThat(IdempotencyKey.problem(text)).isEqualTo("is not well-formed Unicode");
	}

	@ParameterizedTest
	@ValueSource(strings = { "\uD83D\uDE80", "Zoë", "it's", " a " })
	void specialCharactersAreAccepted(String text) {
		assertThat(IdempotencyKey.of("scope", text).value()).isEqualTo(text);
	}

	@Test
	void identifierIsTheSameInEveryRelease() {
		assertThat(IdempotencyKey.of("payments", "order-1").id())
			.isEqualTo(UUID.fromString("cbaecca4-e0d2-4e52-454c-63663afa85aa"));
	}

	@ParameterizedTest
	@CsvSource({ "ab,c,a,bc", "a,b,b,a", "a,b,a,c", "a,b,c,b", "a,A,a,a" })
	void otherScopeOrValueIsAnotherKey(String scope, String value, String otherScope, String otherValue) {
		IdempotencyKey key = IdempotencyKey.of(scope, value);
		IdempotencyKey other = IdempotencyKey.of(otherScope, otherValue);
		assertThat(key.id()).isNotEqualTo(other.id());
		assertThat(key).isNotEqualTo(other);
	}

	@Test
	void identifierOfALongScopeIsTheSameInEveryRelease() {
		String scope = "s".repeat(300);
		assertThat(IdempotencyKey.of(scope, "a").id())
			.isEqualTo(UUID.fromString("c73f39d8-3d49-a362-da72-f315116ac1d6"));
	}

	// An OutOfMemoryError within the calculation leaves the digest of the thread like
	// this.
	@Test
	void identifierDoesNotDependOnACalculationThatWasInterrupted() {
		UUID id = IdempotencyKey.of("a", "b").id();
		ThreadLocal<?> digest = (ThreadLocal<?>) ReflectionTestUtils.getField(IdempotencyKey.class, "SHA_256");
		assertThat(digest).isNotNull();
		((MessageDigest) digest.get()).update((byte) 1);
		assertThat(IdempotencyKey.of("a", "b").id()).isEqualTo(id);
	}

	@Test
	void differentKeysHaveDifferentHashCodes() {
		assertThat(IdempotencyKey.of("a", "b")).doesNotHaveSameHashCodeAs(IdempotencyKey.of("a", "c"));
	}

	@Test
	void equalScopeAndValueAreTheSameKey() {
		assertThat(IdempotencyKey.of("a", "b")).isEqualTo(IdempotencyKey.of("a", "b"))
			.hasSameHashCodeAs(IdempotencyKey.of("a", "b"));
	}

	// They hide a part of the text, change its direction or end its line.
	@ParameterizedTest
	@CsvSource({ "'\u202E', \\u202E", "'\u2066', \\u2066", "'\u200B', \\u200B", "'\uFEFF', \\uFEFF",
			"'\u2028', \\u2028", "'\u2029', \\u2029", "'\uDB40\uDC41', \\uDB40\\uDC41" })
	void toStringShowsInvisibleCharactersByTheirCodes(String character, String shown) {
		IdempotencyKey key = IdempotencyKey.of("a" + character, "\uD83D\uDE80" + character + "7");
		assertThat(key).hasToString("key '\uD83D\uDE80" + shown + "7' in scope 'a" + shown + "'");
		assertThat(key.value()).contains(character);
	}

	@Test
	void toStringContainsValueAndScope() {
		assertThat(IdempotencyKey.of("a", "b")).hasToString("key 'b' in scope 'a'");
	}

}
