/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the notifications of an {@link OperationObserver} bean about completions.
 */
class CompletionNotificationTests {

	private static final IdempotencyKey KEY = TestDatabase.newKey();

	@Test
	@Tag("promise-6")
	void listenersAreNotifiedWhenACompletionFailsAndWhenItIsSettled() {
		Contexts.all().withUserConfiguration(Beans.class).run((context) -> {
			UnreliableStore store = context.getBean(UnreliableStore.class);
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			List<String> notifications = context.getBean(Beans.class).notifications;
			store.fail(StoreCall.COMPLETE);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(
					() -> template.execute(TestDatabase.operation(KEY, Mode.LEASED), ResultCodec.none(), () -> null));
			assertThat(notifications).containsExactly("failed " + KEY);
			store.recover();
			template.settle();
			assertThat(notifications).containsExactly("failed " + KEY, "settled " + KEY + " " + Settlement.SETTLED);
			assertThat(context.getBean(MeterRegistry.class)
				.get("idempotency.completion.failed")
				.tag("listener", "payments")
				.counter()
				.count()).isOne();
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class Beans {

		private final List<String> notifications = new CopyOnWriteArrayList<>();

		@Bean
		UnreliableStore unreliableStore() {
			return new UnreliableStore(new InMemoryIdempotencyStore());
		}

		@Bean
		OperationObserver notificationListener() {
			return new OperationObserver() {

				@Override
				public void completionFailed(String listener, IdempotencyKey key) {
					Beans.this.notifications.add("failed " + key);
				}

				@Override
				public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
					Beans.this.notifications.add("settled " + key + " " + settlement);
				}

			};
		}

	}

}
