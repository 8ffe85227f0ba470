/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.slf4j;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationSpec;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link MdcOperationContext}.
 */
class MdcOperationContextTests {

	private static final Map<String, String> OF_A = Map.of("idempotency.key", "a", "idempotency.scope", "payments");

	private final IdempotencyTemplate template = new IdempotencyTemplate(new InMemoryIdempotencyStore(),
			new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, Observers.none(),
					List.of(new MdcOperationContext()), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
					OperationSpec.Defaults.STANDARD));

	@AfterEach
	void close() {
		MDC.clear();
		this.template.close();
	}

	private static IdempotentOperation operation(String key) {
		return TestDatabase.operation(IdempotencyKey.of("payments", key), Mode.LEASED);
	}

	private static Map<String, String> now() {
		Map<String, String> now = MDC.getCopyOfContextMap();
		return (now != null) ? now : Map.of();
	}

	private Map<String, String> seen(String key) {
		return this.template.execute(operation(key), ResultCodec.none(), MdcOperationContextTests::now).result();
	}

	@Test
	void handlerSeesKeyAndScope() {
		assertThat(seen("a")).isEqualTo(OF_A);
		assertThat(now()).isEmpty();
	}

	@Test
	void invisibleCharactersOfAKeyAreShownByTheirCodes() {
		assertThat(seen("a\u202Eb")).containsEntry("idempotency.key", "a\\u202Eb");
	}

	@Test
	void earlierValuesAreRestored() {
		MDC.put("request", "1");
		MDC.put("idempotency.key", "outer");
		assertThat(seen("a")).containsAllEntriesOf(OF_A).containsEntry("request", "1");
		assertThat(now()).isEqualTo(Map.of("request", "1", "idempotency.key", "outer"));
	}

	@Test
	void failedHandlerLeavesNoValues() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(operation("a"), ResultCodec.none(), () -> {
				throw new IllegalStateException(now().toString());
			}))
			.withMessageContaining("idempotency.key=a");
		assertThat(now()).isEmpty();
	}

	@Test
	void nestedOperationHasItsOwnValues() {
		Map<String, String> inner = this.template.execute(operation("b"), ResultCodec.none(), () -> {
			Map<String, String> seen = seen("a");
			assertThat(now()).containsEntry("idempotency.key", "b");
			return seen;
		}).result();
		assertThat(inner).isEqualTo(OF_A);
	}

	@Test
	void asynchronousHandlerSeesTheValuesUntilItReturns() {
		CompletableFuture<Map<String, String>> handler = new CompletableFuture<>();
		CompletableFuture<IdempotentResult<Map<String, String>>> answer = this.template.executeAsync(operation("a"),
				ResultCodec.none(), () -> {
					assertThat(now()).isEqualTo(OF_A);
					return handler;
				});
		assertThat(now()).isEmpty();
		handler.complete(now());
		answer.join();
		assertThat(now()).isEmpty();
	}

	@Test
	void batchSeesTheScope() {
		List<@Nullable Map<String, String>> seen = this.template
			.executeAll(List.of(new BatchItem(operation("a"), "lane"), new BatchItem(operation("b"), "lane")),
					ResultCodec.<Map<String, String>>none(), (due) -> List.of(now(), now()))
			.results()
			.stream()
			.map(IdempotentResult::result)
			.toList();
		assertThat(seen).hasSize(2).containsOnly(Map.of("idempotency.scope", "payments"));
		assertThat(now()).isEmpty();
	}

}
