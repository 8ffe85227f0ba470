/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.census;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.NotIdempotent;
import dev.idempotency.test.ListenerRules;
import dev.idempotency.test.ledger.UndeclaredListener;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Tests for {@link ListenerRules}.
 */
class ListenerDeclarationTests {

	@Test
	void listenersDeclareTheirProtection() {
		ListenerRules.LISTENERS_DECLARE_THEIR_PROTECTION
			.check(new ClassFileImporter().importPackages(getClass().getPackageName()));
	}

	@Test
	void listenerThatDeclaresNothingIsNamed() {
		assertThatThrownBy(() -> ListenerRules.LISTENERS_DECLARE_THEIR_PROTECTION
			.check(new ClassFileImporter().importClasses(UndeclaredListener.class))).hasMessageContaining(
					"UndeclaredListener.listen(java.lang.String) is neither @Idempotent nor @NotIdempotent");
	}

	@Test
	void listenerOfSeveralContainersIsFound() {
		assertThatThrownBy(() -> ListenerRules.LISTENERS_DECLARE_THEIR_PROTECTION
			.check(new ClassFileImporter().importClasses(UndeclaredListener.Repeated.class)))
			.hasMessageContaining("Repeated.listen(java.lang.String) is neither @Idempotent nor @NotIdempotent");
	}

	static class Declared {

		@Idempotent
		@KafkaListener(topics = "payments", groupId = "group")
		void payment(String value) {
		}

		@NotIdempotent("replaces a state")
		@KafkaListener(topics = "state", groupId = "group")
		void state(String value) {
		}

	}

}
