/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link OtherContents}.
 */
@Tag("promise-9")
class OtherContentsTests {

	private final UnreliableStore store = new UnreliableStore(new InMemoryIdempotencyStore());

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, false, Observers.none()));

	@AfterEach
	void close() {
		this.template.close();
	}

	private static IdempotentOperation operation(String name, String content, Object origin) {
		return new IdempotentOperation(IdempotencyKey.of("scope", "key"), name, origin, Mode.LEASED,
				Fingerprint.ofReported(1, content.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(30),
				Duration.ofDays(1), null, null);
	}

	private IdempotentResult<String> run(String name, String content, Object origin) {
		return this.template.execute(operation(name, content, origin), new TextCodec(), () -> content);
	}

	@Test
	void duplicateIsReplayedAlthoughItsOriginHasNoText() {
		run("textless", "reserve", "first");
		IdempotentResult<String> duplicate = run("textless", "confirm", new Object() {

			@Override
			public String toString() {
				throw new IllegalStateException("no text");
			}

		});
		assertThat(duplicate.duplicate()).isTrue();
		assertThat(duplicate.result()).isEqualTo("reserve");
	}

	@Test
	void laterDuplicatesOfTheMinuteAreCounted() {
		run("counted", "reserve", "first");
		try (Logs logs = Logs.about("counted")) {
			run("counted", "confirm", "second");
			run("counted", "confirm", "third");
			run("counted", "reserve", "fourth");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.startsWith("A duplicate of counted has other content")
				.contains("second", "by the record of first");
		}
		assertThat(this.template.admin().otherContents()).extracting(OtherContent::record)
			.containsExactly("second", "third");
	}

	@Test
	void itemsOfABatchAreComparedWithTheCompletedContent() {
		run("batch", "reserve", "first");
		List<BatchItem> items = Stream.of("confirm", "reserve", "confirm")
			.map((content) -> new BatchItem(operation("batch", content, content), "lane"))
			.toList();
		this.template.executeAll(items, new TextCodec(), (due) -> {
			throw new IllegalStateException("no item is due");
		});
		assertThat(this.template.admin().otherContents()).extracting(OtherContent::record)
			.containsExactly("confirm", "confirm");
	}

	// The origin may be a record with its content.
	@Test
	void originOfAnOperationWhoseContentIsNotReportedIsNotKept() {
		WeakReference<Object> origin = new WeakReference<>(runWithOriginOfItsOwn());
		await().untilAsserted(() -> {
			System.gc();
			assertThat(origin.get()).isNull();
		});
	}

	private Object runWithOriginOfItsOwn() {
		Object origin = new Object();
		this.template.operation("unreported", "key").origin(origin).execute(() -> {
		});
		return origin;
	}

	@Test
	void keyThatIsEvictedBeforeTheSecondClaimIsRun() {
		this.store.showRecords();
		run("evicted", "reserve", "first");
		this.store.afterClaim((claim) -> {
			this.store.afterClaim((second) -> {
			});
			this.template.admin().evict(claim.key(), false, null);
		});
		IdempotentResult<String> result = run("evicted", "confirm", "second");
		assertThat(result.duplicate()).isFalse();
		assertThat(result.result()).isEqualTo("confirm");
		assertThat(this.template.admin().otherContents()).isEmpty();
		assertThat(run("evicted", "confirm", "third").duplicate()).isTrue();
	}

}
