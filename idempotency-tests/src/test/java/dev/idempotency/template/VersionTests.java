/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.StalePolicy;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link OperationVersion} in both modes.
 */
@Tag("promise-3")
class VersionTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final RecordingObserver listener = new RecordingObserver();

	private final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
			new Settings(null, this.manager, false, StoreCircuit.ALWAYS_CLOSED,
					new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), this.listener.observers(), List.of(),
					IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));

	private final IdempotencyKey key = TestDatabase.newKey();

	private IdempotentOperation operation(Mode mode, long version) {
		return TestDatabase.operation(this.key, mode, version, StalePolicy.SKIP);
	}

	private IdempotentResult<String> run(Mode mode, long version) {
		return this.template.execute(operation(mode, version), new TextCodec(), () -> "done " + version);
	}

	private IdempotentResult<String> fail(Mode mode, long version) {
		return this.template.execute(operation(mode, version), new TextCodec(), () -> {
			throw new IllegalStateException("fails");
		});
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void onlyHigherVersionsRun(Mode mode) {
		assertThat(run(mode, 5)).isEqualTo(new IdempotentResult<>("done 5", false));
		assertThat(run(mode, 4)).isEqualTo(IdempotentResult.ofStale());
		assertThat(run(mode, 5)).isEqualTo(new IdempotentResult<>("done 5", true));
		assertThat(run(mode, 6)).isEqualTo(new IdempotentResult<>("done 6", false));
		// The cache of completed keys would answer.
		assertThat(run(mode, 5).stale()).isTrue();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.STALE, Outcome.DUPLICATE,
				Outcome.PROCESSED, Outcome.STALE);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void staleVersionIsRejected(Mode mode) {
		run(mode, 5);
		IdempotentOperation rejecting = TestDatabase.operation(this.key, mode, 4, StalePolicy.REJECT);
		assertThatExceptionOfType(IdempotencyVersionStaleException.class)
			.isThrownBy(() -> this.template.execute(rejecting, new TextCodec(), () -> "done"));
		assertThat(this.listener.outcomes()).endsWith(Outcome.STALE);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-5")
	void failedVersionLeavesTheCompletedOne(Mode mode) {
		run(mode, 5);
		assertThatIllegalStateException().isThrownBy(() -> fail(mode, 7));
		assertThat(run(mode, 4).stale()).isTrue();
		assertThat(run(mode, 5)).isEqualTo(new IdempotentResult<>("done 5", true));
		assertThat(run(mode, 6)).isEqualTo(new IdempotentResult<>("done 6", false));
		assertThat(run(mode, 7)).isEqualTo(new IdempotentResult<>("done 7", false));
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void refusalCompletesItsVersion(Mode mode) {
		assertThatExceptionOfType(OperationDeclinedException.class)
			.isThrownBy(() -> this.template.execute(operation(mode, 5), new TextCodec(), () -> {
				throw new OperationDeclinedException("closed");
			}));
		assertThat(run(mode, 4).stale()).isTrue();
		assertThatExceptionOfType(OperationDeclinedException.class).isThrownBy(() -> run(mode, 5));
		assertThat(run(mode, 6).result()).isEqualTo("done 6");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-2")
	void versionsExcludeEachOther(Mode mode) {
		ClaimRequest other = TestDatabase.request(this.key);
		one(database.store()).claim(other);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> run(mode, 5));
		one(database.store()).release(other);
		assertThat(run(mode, 5).result()).isEqualTo("done 5");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void versionOfACallersTransactionIsThatOfItsOutcome(Mode mode) {
		run(mode, 5);
		TransactionTemplate transaction = new TransactionTemplate(this.manager);
		transaction.executeWithoutResult((status) -> {
			assertThat(run(mode, 6).result()).isEqualTo("done 6");
			status.setRollbackOnly();
		});
		assertThat(run(mode, 5)).isEqualTo(new IdempotentResult<>("done 5", true));
		transaction.executeWithoutResult((status) -> {
			assertThat(run(mode, 4).stale()).isTrue();
			assertThat(run(mode, 7).result()).isEqualTo("done 7");
			assertThat(run(mode, 7)).isEqualTo(new IdempotentResult<>("done 7", true));
		});
		assertThat(run(mode, 6).stale()).isTrue();
	}

}
