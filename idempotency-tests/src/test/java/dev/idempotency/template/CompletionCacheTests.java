/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for an {@link IdempotencyTemplate} with a {@link CompletionCache}.
 */
class CompletionCacheTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	private final IdempotencyKey key = TestDatabase.newKey();

	private final RecordingObserver listener = new RecordingObserver();

	private final AtomicInteger runs = new AtomicInteger();

	private final IdempotencyTemplate template = template(database.store());

	private IdempotencyTemplate template(IdempotencyStore store) {
		return new IdempotencyTemplate(store, new Settings(null, this.manager, false, StoreCircuit.ALWAYS_CLOSED,
				new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), this.listener.observers(), List.of(),
				IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));
	}

	private IdempotentOperation operation(Mode mode, @Nullable String content) {
		byte[] fingerprint = (content != null) ? Fingerprint.of(content.getBytes(StandardCharsets.UTF_8)) : null;
		return TestDatabase.operation(this.key, mode, fingerprint, TestDatabase.LEASE);
	}

	private IdempotentResult<String> run(IdempotencyTemplate someTemplate, IdempotentOperation operation) {
		return someTemplate.execute(operation, new TextCodec(), () -> "run " + this.runs.incrementAndGet());
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateOfACompletionOfThisProcessCostsNoCallAndReplaysItsResult(Mode mode) {
		run(this.template, operation(mode, null));
		int calls = this.listener.storeCalls().size();
		assertThat(run(this.template, operation(mode, null))).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.listener.storeCalls()).hasSize(calls);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void secondDuplicateOfACompletionElsewhereCostsNoCall(Mode mode) {
		run(template(database.store()), operation(mode, null));
		run(this.template, operation(mode, null));
		int calls = this.listener.storeCalls().size();
		assertThat(run(this.template, operation(mode, null))).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.listener.storeCalls()).hasSize(calls);
	}

	@Test
	@Tag("promise-9")
	void otherContentUnderACachedKeyIsRejected() {
		run(this.template, operation(Mode.LEASED, "a"));
		assertThatExceptionOfType(IdempotencyKeyReusedException.class)
			.isThrownBy(() -> run(this.template, operation(Mode.LEASED, "b")));
	}

	@Test
	@Tag("promise-11")
	void pendingCompletionIsNotCached() {
		UnreliableStore store = new UnreliableStore(database.store());
		store.fail(StoreCall.COMPLETE);
		IdempotencyTemplate unreliable = template(store);
		for (int i = 0; i < 2; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> run(unreliable, operation(Mode.LEASED, null)));
		}
	}

	@Test
	@Tag("promise-4")
	void completionOfAZombieIsNotCached() {
		assertThatExceptionOfType(OperationLostException.class)
			.isThrownBy(() -> this.template.execute(operation(Mode.LEASED, null), new TextCodec(), () -> {
				database.endLease(this.key);
				one(database.store()).claim(TestDatabase.request(this.key));
				return "zombie";
			}));
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> run(this.template, operation(Mode.LEASED, null)));
	}

	// The handler has committed its transaction, and fails when a copy has found the key
	// completed.
	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void completionThatIsUndoneIsNotCached() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(operation(Mode.TRANSACTIONAL, null), new TextCodec(), () -> {
				EffectOperation.commit(new JdbcTemplate(database.pool()));
				assertThat(CompletableFuture.supplyAsync(() -> run(this.template, operation(Mode.TRANSACTIONAL, null))))
					.succeedsWithin(Duration.ofMinutes(1))
					.matches(IdempotentResult::duplicate);
				throw new IllegalStateException("late");
			}));
		assertThat(run(this.template, operation(Mode.TRANSACTIONAL, null)).duplicate()).isFalse();
	}

	@Test
	@Tag("promise-5")
	void completionInATransactionThatIsRolledBackIsNotCached() {
		new TransactionTemplate(this.manager).executeWithoutResult((transaction) -> {
			run(this.template, operation(Mode.TRANSACTIONAL, null));
			run(this.template, operation(Mode.TRANSACTIONAL, null));
			transaction.setRollbackOnly();
		});
		assertThat(run(this.template, operation(Mode.TRANSACTIONAL, null)))
			.isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	@Tag("promise-11")
	void cachedDuplicateNeedsNoStore() {
		UnreliableStore store = new UnreliableStore(database.store());
		IdempotencyTemplate unreliable = template(store);
		run(unreliable, operation(Mode.LEASED, null));
		store.fail(StoreCall.CLAIM);
		assertThat(run(unreliable, operation(Mode.LEASED, null)).duplicate()).isTrue();
	}

	// The completion is added while an operator evicts the key on another thread.
	@Test
	@Tag("promise-3")
	void keyIsNotInTheCacheWhenItsEvictionHasAnswered() throws InterruptedException {
		Map<IdempotencyKey, Claim.Completed> cached = new ConcurrentHashMap<>();
		AtomicReference<LocalCompletions> completions = new AtomicReference<>();
		Thread operator = new Thread(() -> completions.get().removeAll(Set.of(this.key)));
		AtomicBoolean found = new AtomicBoolean();
		completions.set(new LocalCompletions(new CompletionCache() {

			@Override
			public Claim.@Nullable Completed find(IdempotencyKey someKey, byte @Nullable [] fingerprint) {
				return cached.get(someKey);
			}

			@Override
			public void add(IdempotencyKey someKey, byte @Nullable [] fingerprint, byte @Nullable [] result,
					Duration retention) {
				operator.start();
				await().until(() -> operator.getState() == Thread.State.BLOCKED || !operator.isAlive());
				cached.put(someKey, new Claim.Completed(result));
				found.set(!operator.isAlive() && completions.get().find(operation(Mode.LEASED, null)) != null);
			}

			@Override
			public void remove(IdempotencyKey someKey) {
				cached.remove(someKey);
			}

		}));
		completions.get().add(operation(Mode.LEASED, null), null);
		operator.join();
		assertThat(found).isFalse();
		assertThat(cached).isEmpty();
	}

	@Test
	void failedOperationIsNotCached() {
		assertThatExceptionOfType(IllegalStateException.class)
			.isThrownBy(() -> this.template.execute(operation(Mode.LEASED, null), new TextCodec(), () -> {
				throw new IllegalStateException("handler");
			}));
		assertThat(run(this.template, operation(Mode.LEASED, null))).isEqualTo(new IdempotentResult<>("run 1", false));
	}

}
