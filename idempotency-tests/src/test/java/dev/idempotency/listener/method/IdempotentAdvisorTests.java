/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.Idempotent;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the classes that {@link IdempotentAdvisor} advises.
 */
class IdempotentAdvisorTests {

	@ParameterizedTest
	@ValueSource(classes = { Declaring.class, Inheriting.class, Implementing.class, Marked.class, Composed.class })
	void classWithAnAnnotatedMethodInItsHierarchyIsACandidate(Class<?> type) {
		assertThat(IdempotentAdvisor.isCandidate(type)).isTrue();
	}

	@Test
	void classWithoutTheAnnotationIsNoCandidate() {
		assertThat(IdempotentAdvisor.isCandidate(Plain.class)).isFalse();
	}

	@interface Other {

	}

	@Idempotent
	@Retention(RetentionPolicy.RUNTIME)
	@interface Once {

	}

	interface Handler<T> {

		@Idempotent
		void handle(T value);

	}

	static class Declaring {

		@Idempotent
		void handle(String value) {
		}

	}

	static class Inheriting extends Declaring {

	}

	static class Implementing implements Handler<String> {

		@Override
		public void handle(String value) {
		}

	}

	@Idempotent
	static class Marked {

	}

	static class Composed {

		@Once
		void handle(String value) {
		}

	}

	static class Plain {

		@Other
		void handle(String value) {
		}

	}

}
