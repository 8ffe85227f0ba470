/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.FailingThreads;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ConnectionOpener}.
 */
@Tag("promise-11")
class ConnectionOpenerTests {

	@Test
	void connectionIsOpenedAgainWhenAThreadCouldNotStart() {
		ConnectionOpener<String> opener = new ConnectionOpener<>(() -> "open", new FailingThreads(1));
		CompletableFuture<String> first = opener.open(null);
		assertThat(first).isCompletedExceptionally();
		assertThat(opener.getIfOpen()).isNull();
		assertThat(opener.open(null).join()).isEqualTo("open");
		assertThat(opener.getIfOpen()).isEqualTo("open");
	}

}
