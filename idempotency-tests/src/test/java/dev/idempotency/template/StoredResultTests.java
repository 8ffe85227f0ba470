/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.BeanUtils;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.Mode;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the results that {@link IdempotencyTemplate} replays.
 */
@Tag("promise-8")
class StoredResultTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	StoredResultTests() {
		super(database);
	}

	@Test
	@Tag("promise-3")
	void duplicateReplaysTheFirstResult() {
		run();
		assertThat(run()).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
	}

	@Test
	void resultThatCannotBeWrittenLeavesTheKeyCompletedWithoutOne() {
		IdempotentResult<String> executed = this.template.execute(this.operation, new BrokenCodec(), () -> "done");
		assertThat(executed).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(run()).isEqualTo(new IdempotentResult<>(null, true));
	}

	@ParameterizedTest
	@ValueSource(classes = { NoClassDefFoundError.class, StackOverflowError.class, OutOfMemoryError.class })
	@Tag("promise-2")
	void codecErrorDoesNotRepeatTheHandler(Class<? extends Error> type) {
		IdempotentResult<String> executed = this.template.execute(this.operation, new BrokenCodec() {

			@Override
			public byte[] write(@Nullable String result) {
				throw BeanUtils.instantiateClass(type);
			}

		}, () -> "run " + this.runs.incrementAndGet());
		assertThat(executed).isEqualTo(new IdempotentResult<>("run 1", false));
		database.endLease(this.key);
		assertThat(run()).isEqualTo(new IdempotentResult<>(null, true));
		assertThat(this.runs).hasValue(1);
	}

	@Test
	@Tag("promise-10")
	void storedResultThatCannotBeReadIsRejectedWithoutQuotingIt() {
		this.template.execute(this.operation, new TextCodec(), () -> "secret");
		assertThatExceptionOfType(IdempotencyResultUnreadableException.class)
			.isThrownBy(() -> this.template.execute(this.operation, new BrokenCodec(), () -> "again"))
			.withMessageContaining("topic-0@7")
			.satisfies((ex) -> assertThat(ex).hasStackTraceContaining("Unreadable")
				.extracting((thrown) -> thrown.getMessage() + thrown.getCause().getMessage())
				.asString()
				.doesNotContain("secret"));
	}

	@Test
	void laterResultThatCannotBeReadBackIsReportedOnce() {
		try (Logs logs = Logs.ofThisThread()) {
			CountingCodec codec = new CountingCodec("unreadable");
			execute(codec, "empty");
			assertThat(logs.messages("ERROR")).isEmpty();
			execute(codec, "unreadable");
			execute(codec, "unreadable");
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("topic-0@7", "not read back", "java.lang.String");
		}
	}

	@Test
	void onlyTheFirstResultsAreReadBack() {
		CountingCodec codec = new CountingCodec("unreadable");
		for (int i = 0; i < 15; i++) {
			execute(codec, "readable");
		}
		assertThat(codec.reads).hasValue(10);
	}

	@Test
	void resultsOfBatchesAndAsyncOperationsAreReadBack() {
		CountingCodec codec = new CountingCodec("unreadable");
		this.template.executeAsync(newOperation(), codec, () -> CompletableFuture.completedFuture("readable")).join();
		assertThat(codec.reads).hasValue(1);
		this.template.executeAll(List.of(new BatchItem(newOperation(), "lane"), new BatchItem(newOperation(), "lane")),
				codec, (due) -> List.of("readable", "readable"));
		assertThat(codec.reads).hasValue(3);
	}

	@Test
	void resultsOfATransactionalBatchAreReadBack() {
		CountingCodec codec = new CountingCodec("unreadable");
		IdempotencyTemplate transactional = new IdempotencyTemplate(database.store(),
				new Settings(new JdbcTransactionManager(database.pool()), false, Observers.none()));
		transactional.executeAll(
				List.of(new BatchItem(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), "lane")),
				codec, (due) -> List.of("readable"));
		assertThat(codec.reads).hasValue(1);
	}

	private void execute(ResultCodec<String> codec, String result) {
		this.template.execute(newOperation(), codec, () -> result);
	}

	private static IdempotentOperation newOperation() {
		return TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED);
	}

	static class CountingCodec implements ResultCodec<String> {

		final AtomicInteger reads = new AtomicInteger();

		private final ResultCodec<String> text = new TextCodec();

		private final String unreadable;

		CountingCodec(String unreadable) {
			this.unreadable = unreadable;
		}

		@Override
		public byte[] write(@Nullable String result) {
			return this.text.write(result);
		}

		@Override
		public String read(byte[] bytes) {
			this.reads.incrementAndGet();
			String result = this.text.read(bytes);
			if (this.unreadable.equals(result)) {
				throw new UnreadableException(result);
			}
			return result;
		}

	}

	static class BrokenCodec implements ResultCodec<String> {

		@Override
		public byte[] write(@Nullable String result) {
			throw new IllegalArgumentException("not serialisable");
		}

		@Override
		public String read(byte[] bytes) {
			throw new UnreadableException(new String(bytes, StandardCharsets.UTF_8));
		}

	}

	@SuppressWarnings("serial")
	static final class UnreadableException extends RuntimeException {

		UnreadableException(String message) {
			super(message);
		}

	}

}
