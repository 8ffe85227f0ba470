/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import com.github.benmanes.caffeine.cache.Cache;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.micrometer.IdempotencyMetrics;
import dev.idempotency.slf4j.MdcOperationContext;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a producer that sends a new key with each record: the memory of an
 * {@link IdempotencyTemplate} and the number of meters do not grow with the keys.
 */
class KeyFloodTests {

	private static final int KEYS = 20_000;

	// The largest structure that does not depend on the keys has 1,024 slots.
	private static final int LIMIT = 2_000;

	private static final int CACHE_BYTES = 1_000_000;

	private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

	private final IdempotencyStore store = new InMemoryIdempotencyStore();

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, null, false, StoreCircuit.ALWAYS_CLOSED,
					new CaffeineCompletionCache(CACHE_BYTES, Duration.ofHours(1)), observers(),
					List.of(new MdcOperationContext()), Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
					OperationSpec.Defaults.STANDARD));

	private Observers observers() {
		IdempotencyMetrics metrics = new IdempotencyMetrics(this.meters);
		return new Observers(List.of(metrics), List.of(metrics));
	}

	@AfterEach
	void close() {
		this.template.close();
	}

	private static IdempotentOperation operation(int number, String content) {
		return new IdempotentOperation(key(number), "flood", "offset " + number, Mode.LEASED,
				Fingerprint.ofReported(1, content.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(30),
				Duration.ofDays(1), null, null);
	}

	private static IdempotencyKey key(int number) {
		return IdempotencyKey.of("scope", "key-" + number);
	}

	@Test
	void completedKeysAndDuplicatesWithOtherContentTakeBoundedMemory() {
		IntStream.range(0, KEYS).forEach((i) -> {
			this.template.execute(operation(i, "first"), new TextCodec(), () -> "done");
			this.template.execute(operation(i, "second"), new TextCodec(), () -> "done");
		});
		assertBounded();
	}

	@Test
	void failedKeysTakeBoundedMemory() {
		IntStream.range(0, KEYS)
			.forEach((i) -> assertThatIllegalStateException()
				.isThrownBy(() -> this.template.execute(operation(i, "fails"), new TextCodec(), () -> {
					throw new IllegalStateException("fails");
				})));
		assertBounded();
	}

	@Test
	void keysInProgressElsewhereTakeBoundedMemory() {
		IntStream.range(0, KEYS).forEach((i) -> {
			one(this.store).claim(operation(i, "other").newRequest());
			assertThatExceptionOfType(OperationInProgressException.class)
				.isThrownBy(() -> this.template.execute(operation(i, "other"), new TextCodec(), () -> "done"));
		});
		assertBounded();
	}

	// A record that is blocked is remembered for ten seconds, so that it can be woken.
	private void assertBounded() {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
			Sizes sizes = Sizes.of(this.template, this.store);
			assertThat(sizes.largest()).isNotEmpty();
			assertThat(sizes.largest()).allSatisfy((field, size) -> assertThat(size).as(field).isLessThan(LIMIT));
		});
		assertThat(this.meters.getMeters()).hasSizeLessThan(20);
	}

	/**
	 * The sizes of the collections, maps, arrays and caches that an object reaches.
	 *
	 * @param largest the largest size of each field
	 */
	private record Sizes(Map<String, Long> largest) {

		static Sizes of(Object root, Object without) {
			Sizes sizes = new Sizes(new TreeMap<>());
			Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
			seen.add(without);
			Deque<Object> next = new ArrayDeque<>(List.of(root));
			while (!next.isEmpty()) {
				Object object = next.remove();
				for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
					for (Field field : type.getDeclaredFields()) {
						if (type.getName().startsWith("dev.idempotency")
								&& !(Modifier.isStatic(field.getModifiers()) && field.getType().isPrimitive())) {
							sizes.visit(field, object, (value) -> {
								if (seen.add(value)) {
									next.add(value);
								}
							});
						}
					}
				}
			}
			return sizes;
		}

		private void visit(Field field, Object object, Consumer<Object> next) {
			Object value;
			try {
				field.setAccessible(true);
				value = field.get(object);
			}
			catch (IllegalAccessException ex) {
				throw new IllegalStateException(ex);
			}
			if (value == null) {
				return;
			}
			long size = -1;
			if (value instanceof Map<?, ?> map) {
				size = map.size();
				map.forEach((key, element) -> {
					next.accept(key);
					next.accept(element);
				});
			}
			else if (value instanceof Collection<?> collection) {
				size = collection.size();
				collection.forEach(next);
			}
			else if (value instanceof Cache<?, ?> cache) {
				// An entry counts as 400 bytes or more.
				size = cache.asMap().size() / (CACHE_BYTES / 400 / 1_000);
			}
			else if (value instanceof AtomicReferenceArray<?> slots) {
				size = slots.length();
			}
			else if (value.getClass().isArray()) {
				size = Array.getLength(value);
			}
			else {
				next.accept(value);
			}
			if (size >= 0) {
				this.largest.merge(field.getDeclaringClass().getSimpleName() + "." + field.getName(), size, Math::max);
			}
		}

	}

}
