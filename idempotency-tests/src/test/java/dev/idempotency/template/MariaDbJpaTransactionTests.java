/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.junit.jupiter.api.Tag;

import dev.idempotency.testsupport.TestDatabase;

/**
 * Tests for {@link IdempotencyTemplate} with handlers that use JPA on MariaDB.
 */
@Tag("slow")
class MariaDbJpaTransactionTests extends JpaTransactionTests {

	@Override
	TestDatabase newDatabase() {
		return TestDatabase.mariaDb();
	}

}
