/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.Claim;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link StoredOutcomeTransformer} on all ways of an outcome to and from the
 * store.
 */
@Tag("promise-8")
class StoredOutcomeTransformerTests {

	private static final String SECRET = "IBAN of Ada";

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final Reversing reversing = new Reversing();

	private static IdempotencyTemplate template(@Nullable StoredOutcomeTransformer transformer) {
		return template(transformer, CompletionCache.NONE, Settings.DEFAULT_MAXIMUM_RESULT_SIZE);
	}

	private static IdempotencyTemplate template(@Nullable StoredOutcomeTransformer transformer, CompletionCache cache,
			DataSize maximumSize) {
		return new IdempotencyTemplate(database.store(),
				new Settings(null, new JdbcTransactionManager(database.pool()), false, StoreCircuit.ALWAYS_CLOSED,
						cache, Observers.none(), List.of(), maximumSize, transformer, OperationSpec.Defaults.STANDARD));
	}

	private static Optional<String> stored(IdempotencyKey key) {
		return database.store()
			.records()
			.orElseThrow()
			.result(key)
			.map((bytes) -> new String(bytes, StandardCharsets.ISO_8859_1));
	}

	@ParameterizedTest
	@EnumSource
	void duplicateReplaysAResultThatIsNotReadableInTheStore(Path path) {
		try (IdempotencyTemplate template = template(this.reversing)) {
			IdempotencyKey key = TestDatabase.newKey();
			assertThat(path.execute(template, key, SECRET)).isEqualTo(new IdempotentResult<>(SECRET, false));
			assertThat(path.execute(template, key, "again")).isEqualTo(new IdempotentResult<>(SECRET, true));
			assertThat(stored(key)).hasValueSatisfying((text) -> assertThat(text).doesNotContain(SECRET));
			assertThat(this.reversing.keys).isNotEmpty().containsOnly(key);
		}
	}

	@ParameterizedTest
	@EnumSource
	void duplicateOfADroppedResultIsSkippedWithoutOne(Path path) {
		try (IdempotencyTemplate template = template(new Dropping())) {
			IdempotencyKey key = TestDatabase.newKey();
			assertThat(path.execute(template, key, SECRET)).isEqualTo(new IdempotentResult<>(SECRET, false));
			assertThat(path.execute(template, key, "again")).isEqualTo(new IdempotentResult<>(null, true));
			assertThat(stored(key)).isEmpty();
		}
	}

	@ParameterizedTest
	@EnumSource
	void refusalIsReplayedAndNotReadableInTheStore(Path path) {
		try (IdempotencyTemplate template = template(this.reversing)) {
			IdempotencyKey key = TestDatabase.newKey();
			OperationDeclinedException refusal = new OperationDeclinedException("no account of Ada", SECRET);
			assertThat(path.refuse(template, key, refusal)).isEqualTo("no account of Ada: " + SECRET);
			assertThat(path.refuse(template, key, new OperationDeclinedException("again")))
				.isEqualTo("no account of Ada: " + SECRET);
			assertThat(stored(key))
				.hasValueSatisfying((text) -> assertThat(text).doesNotContain(SECRET).doesNotContain("Ada"));
			assertThat(template.admin().outcome(key).map(StoredOutcome::declineReason)).contains("no account of Ada");
		}
	}

	@ParameterizedTest
	@EnumSource
	void duplicateOfADroppedRefusalIsRefusedWithoutItsReason(Path path) {
		try (IdempotencyTemplate template = template(new Dropping())) {
			IdempotencyKey key = TestDatabase.newKey();
			path.refuse(template, key, new OperationDeclinedException("no account of Ada", SECRET));
			assertThat(path.refuse(template, key, new OperationDeclinedException("again")))
				.isEqualTo("The reason of the decline was not stored: null");
			assertThat(stored(key)).hasValueSatisfying((text) -> assertThat(text).doesNotContain("Ada"));
		}
	}

	@Test
	void resultThatWasStoredBeforeTheTransformerWasAddedIsReplayed() {
		IdempotencyKey key = TestDatabase.newKey();
		try (IdempotencyTemplate before = template(null); IdempotencyTemplate after = template(this.reversing)) {
			Path.LEASED.execute(before, key, SECRET);
			assertThat(Path.LEASED.execute(after, key, "again")).isEqualTo(new IdempotentResult<>(SECRET, true));
			assertThat(this.reversing.keys).isEmpty();
		}
	}

	@Test
	@Tag("promise-10")
	void resultIsUnreadableWithoutTheTransformer() {
		IdempotencyKey key = TestDatabase.newKey();
		try (IdempotencyTemplate with = template(this.reversing); IdempotencyTemplate without = template(null)) {
			Path.LEASED.execute(with, key, SECRET);
			assertThatExceptionOfType(IdempotencyResultUnreadableException.class)
				.isThrownBy(() -> Path.LEASED.execute(without, key, "again"))
				.withMessageContainingAll("has completed", "this application has none", "topic-0@7");
			assertThatExceptionOfType(IdempotencyResultUnreadableException.class)
				.isThrownBy(() -> without.admin().outcome(key));
		}
	}

	@Test
	void resultThatTheTransformerReturnsUnchangedNeedsNoTransformer() {
		IdempotencyKey key = TestDatabase.newKey();
		try (IdempotencyTemplate with = template(new Unchanged()); IdempotencyTemplate without = template(null)) {
			Path.LEASED.execute(with, key, SECRET);
			assertThat(Path.LEASED.execute(without, key, "again")).isEqualTo(new IdempotentResult<>(SECRET, true));
		}
	}

	@Test
	void resultThatLooksTransformedIsReplayed() {
		try (IdempotencyTemplate template = template(new Unchanged())) {
			IdempotencyKey key = TestDatabase.newKey();
			String result = new String(OutcomeMark.TRANSFORMED.on(new byte[] { 'x' }), StandardCharsets.UTF_8);
			Path.LEASED.execute(template, key, result);
			assertThat(Path.LEASED.execute(template, key, "again")).isEqualTo(new IdempotentResult<>(result, true));
		}
	}

	@Test
	void maximumSizeAppliesToTheTransformedBytes() {
		try (IdempotencyTemplate template = template(this.reversing, CompletionCache.NONE,
				DataSize.ofBytes(SECRET.length())); Logs logs = Logs.ofThisThread()) {
			Path.TRANSACTIONAL.execute(template, TestDatabase.newKey(), SECRET);
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains((SECRET.length() + OutcomeMark.LENGTH) + " bytes");
		}
	}

	@Test
	void cacheHoldsTheTransformedBytes() {
		List<String> cached = new ArrayList<>();
		CompletionCache cache = new CompletionCache() {

			private byte @Nullable [] result;

			@Override
			public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
				return (this.result != null) ? new Claim.Completed(this.result) : null;
			}

			@Override
			public void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] bytes,
					Duration retention) {
				this.result = bytes;
				cached.add(new String(bytes, StandardCharsets.UTF_8));
			}

			@Override
			public void remove(IdempotencyKey key) {
			}

		};
		try (IdempotencyTemplate template = template(this.reversing, cache, Settings.DEFAULT_MAXIMUM_RESULT_SIZE)) {
			IdempotencyKey key = TestDatabase.newKey();
			Path.LEASED.execute(template, key, SECRET);
			assertThat(Path.LEASED.execute(template, key, "again")).isEqualTo(new IdempotentResult<>(SECRET, true));
			assertThat(cached).isNotEmpty().noneMatch((text) -> text.contains(SECRET));
		}
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-2")
	@Tag("promise-8")
	void operationCompletesWithoutItsResultWhenTheTransformerFails(Path path) {
		IdempotencyKey key = TestDatabase.newKey();
		try (IdempotencyTemplate template = template(new Failing(SECRET));
				Logs logs = Logs.about("'" + key.value() + "'")) {
			assertThat(path.execute(template, key, SECRET)).isEqualTo(new IdempotentResult<>(SECRET, false));
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("correct the StoredOutcomeTransformer")
				.doesNotContain(SECRET);
			assertThat(path.execute(template, key, "again")).isEqualTo(new IdempotentResult<>(null, true));
		}
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-3")
	void refusalStaysARefusalWhenTheTransformerFails(Path path) {
		try (IdempotencyTemplate template = template(new Failing(SECRET))) {
			IdempotencyKey key = TestDatabase.newKey();
			path.refuse(template, key, new OperationDeclinedException(SECRET));
			assertThat(path.refuse(template, key, new OperationDeclinedException("again")))
				.isEqualTo("The reason of the decline was not stored: null");
		}
	}

	@Test
	@Tag("promise-12")
	void outcomeThatCannotBeRestoredIsReportedWithTheFirstResult() {
		try (IdempotencyTemplate template = template(new Reversing() {

			@Override
			public byte[] fromStored(IdempotencyKey key, byte[] stored) {
				throw new IllegalArgumentException(SECRET);
			}

		}); Logs logs = Logs.ofThisThread()) {
			IdempotencyKey key = TestDatabase.newKey();
			Path.LEASED.execute(template, key, SECRET);
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("not read back", "Correct the StoredOutcomeTransformer", "topic-0@7");
			assertThatExceptionOfType(IdempotencyResultUnreadableException.class)
				.isThrownBy(() -> Path.LEASED.execute(template, key, "again"))
				.withMessageContainingAll("cannot restore", "topic-0@7")
				.satisfies((ex) -> assertThat(ex.getMessage() + ex.getCause().getMessage()).doesNotContain(SECRET));
		}
	}

	@ParameterizedTest
	@EnumSource
	void messageOfAFailureIsStoredAsTheTransformerReturnsIt(Path path) {
		IdempotencyKey dropped = TestDatabase.newKey();
		IdempotencyKey kept = TestDatabase.newKey();
		try (IdempotencyTemplate dropping = template(this.reversing);
				IdempotencyTemplate keeping = template(new Reversing() {

					@Override
					public String failureMessage(Throwable error) {
						return error.getMessage().replace("Ada", "***");
					}

				})) {
			path.fail(dropping, dropped, new IllegalArgumentException(SECRET));
			path.fail(keeping, kept, new IllegalArgumentException(SECRET));
		}
		assertThat(database.record(dropped).failure()).satisfies((failure) -> {
			assertThat(failure.type()).isEqualTo(IllegalArgumentException.class.getName());
			assertThat(failure.message()).isNull();
		});
		assertThat(database.record(kept).failure().message()).isEqualTo("IBAN of ***");
	}

	@Test
	void failureIsStoredWithoutAMessageWhenTheTransformerFails() {
		IdempotencyKey key = TestDatabase.newKey();
		try (IdempotencyTemplate template = template(new Reversing() {

			@Override
			public String failureMessage(Throwable error) {
				throw new IllegalStateException();
			}

		}); Logs logs = Logs.ofThisThread()) {
			Path.LEASED.fail(template, key, new IllegalArgumentException(SECRET));
			assertThat(logs.messages("WARN")).singleElement().asString().contains("'failureMessage'");
		}
		assertThat(database.record(key).failure().message()).isNull();
	}

	/**
	 * A way of an outcome to and from the store.
	 */
	enum Path {

		LEASED(Mode.LEASED, false), TRANSACTIONAL(Mode.TRANSACTIONAL, false), ASYNC(Mode.LEASED, false),
		LEASED_BATCH(Mode.LEASED, true), TRANSACTIONAL_BATCH(Mode.TRANSACTIONAL, true);

		private final Mode mode;

		private final boolean batch;

		Path(Mode mode, boolean batch) {
			this.mode = mode;
			this.batch = batch;
		}

		IdempotentResult<String> execute(IdempotencyTemplate template, IdempotencyKey key, String result) {
			return run(template, key, result, null);
		}

		String refuse(IdempotencyTemplate template, IdempotencyKey key, OperationDeclinedException refusal) {
			try {
				IdempotentResult<String> refused = run(template, key, null, refusal);
				return refused.declineReason() + ": " + refused.result();
			}
			catch (OperationDeclinedException ex) {
				return ex.reason() + ": " + ex.body();
			}
			catch (CompletionException ex) {
				OperationDeclinedException refused = (OperationDeclinedException) ex.getCause();
				return refused.reason() + ": " + refused.body();
			}
		}

		void fail(IdempotencyTemplate template, IdempotencyKey key, RuntimeException error) {
			try {
				run(template, key, null, error);
			}
			catch (RuntimeException ex) {
				assertThat((ex instanceof CompletionException) ? ex.getCause() : ex).isSameAs(error);
			}
		}

		private IdempotentResult<String> run(IdempotencyTemplate template, IdempotencyKey key, @Nullable String result,
				@Nullable RuntimeException error) {
			IdempotentOperation operation = TestDatabase.operation(key, this.mode);
			if (this == ASYNC) {
				return template
					.executeAsync(operation, new TextCodec(),
							() -> (error != null) ? CompletableFuture.failedFuture(error)
									: CompletableFuture.completedFuture(result))
					.join();
			}
			if (!this.batch) {
				return template.execute(operation, new TextCodec(), () -> {
					if (error != null) {
						throw error;
					}
					return result;
				});
			}
			BatchResult<String> executed = template.executeAll(List.of(new BatchItem(operation, "lane")),
					new TextCodec(), new BatchHandler<>() {

						@Override
						public List<@Nullable String> handle(List<Integer> due) {
							if (error != null) {
								throw error;
							}
							return List.of(result);
						}

						@Override
						public int failedAt(Throwable thrown) {
							return 0;
						}

						@Override
						public @Nullable OperationDeclinedException declinedBy(Throwable thrown) {
							return (thrown instanceof OperationDeclinedException refused) ? refused : null;
						}

					});
			if (executed.failure() instanceof RuntimeException failure) {
				throw failure;
			}
			return executed.results().get(0);
		}

	}

	/**
	 * Reverses the bytes, in place.
	 */
	static class Reversing implements StoredOutcomeTransformer {

		final List<IdempotencyKey> keys = new ArrayList<>();

		@Override
		public byte @Nullable [] toStored(IdempotencyKey key, byte[] outcome) {
			this.keys.add(key);
			return reverse(outcome);
		}

		@Override
		public byte[] fromStored(IdempotencyKey key, byte[] stored) {
			this.keys.add(key);
			return reverse(stored);
		}

		private static byte[] reverse(byte[] bytes) {
			for (int i = 0; i < bytes.length / 2; i++) {
				byte first = bytes[i];
				bytes[i] = bytes[bytes.length - 1 - i];
				bytes[bytes.length - 1 - i] = first;
			}
			return bytes;
		}

	}

	/**
	 * Drops every outcome.
	 */
	static class Dropping extends Reversing {

		@Override
		public byte @Nullable [] toStored(IdempotencyKey key, byte[] outcome) {
			return null;
		}

	}

	/**
	 * Stores every outcome as it is.
	 */
	static class Unchanged extends Reversing {

		@Override
		public byte[] toStored(IdempotencyKey key, byte[] outcome) {
			return outcome;
		}

		@Override
		public byte[] fromStored(IdempotencyKey key, byte[] stored) {
			throw new IllegalStateException("Nothing was transformed");
		}

	}

	/**
	 * Fails for outcomes that contain a text.
	 */
	static class Failing extends Reversing {

		private final String text;

		Failing(String text) {
			this.text = text;
		}

		@Override
		public byte @Nullable [] toStored(IdempotencyKey key, byte[] outcome) {
			if (new String(outcome, StandardCharsets.UTF_8).contains(this.text)) {
				throw new IllegalArgumentException("no key");
			}
			return super.toStored(key, outcome);
		}

	}

}
