/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.BatchOf.IndexFailure;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for versions of keys in batches, in both modes.
 */
@Tag("promise-3")
class VersionBatchTests {

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private static BatchOf batch(Mode mode) {
		return new BatchOf(database, mode, false);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void highestVersionOfTheBatchIsRun(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a3 a5 b1 a4 a5 c - a5");
		assertThat(BatchOf.text(executed)).isEqualTo("~ a5 b1 ~ [a5] c - [a5]");
		assertThat(batch.runs()).containsExactly("a5 b1 c -");
		assertThat(batch.record("a").version()).isEqualTo(5);
		assertThat(batch.outcomes()).containsExactly(Outcome.STALE, Outcome.PROCESSED, Outcome.PROCESSED, Outcome.STALE,
				Outcome.DUPLICATE, Outcome.PROCESSED, Outcome.DUPLICATE);
		assertThat(batch.storeCalls()).hasSize(2);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void redeliveredBatchDoesNotRunAgain(Mode mode) {
		BatchOf batch = batch(mode);
		batch.run("a3! a5! b1!");
		assertThat(BatchOf.text(batch.run("a3! a5! b1!"))).isEqualTo("~ [a5!] [b1!]");
		assertThat(BatchOf.text(batch.run("a4 b2 a6"))).isEqualTo("~ b2 a6");
		assertThat(BatchOf.text(batch.run("a5 b2 a4"))).isEqualTo("~ [b2] ~");
		assertThat(batch.runs()).containsExactly("a5! b1!", "b2 a6");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void staleVersionBehindAHigherOneIsRejected(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a5! b1! a4! c1!");
		assertThat(BatchOf.text(executed)).isEqualTo("a5! b1! - -");
		assertThat(executed.failedAt()).isEqualTo(2);
		assertThat(executed.failure()).isInstanceOf(IdempotencyVersionStaleException.class)
			.hasMessageStartingWith("Version 4 is stale, because version 5 has completed: ")
			.hasMessageEndingWith(". Discard the record, or send its content with a new version");
		assertThat(batch.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.PROCESSED, Outcome.STALE);
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void highestVersionThatIsStaleIsRejectedAfterTheLowerOnes(Mode mode) {
		BatchOf batch = batch(mode);
		batch.run("a9");
		BatchResult<String> executed = batch.run("b1 a3! a5! c1");
		assertThat(BatchOf.text(executed)).isEqualTo("b1 - - -");
		assertThat(executed.failedAt()).isEqualTo(1);
		assertThat(executed.failure()).isInstanceOf(IdempotencyVersionStaleException.class);
	}

	// The sender's next delivery begins at the failed item, behind the lower version.
	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-5")
	void lowerVersionIsRunIfTheHighestOneFails(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a3 a4 b1 a5 c1",
				(seen) -> seen.contains("a5") ? new IndexFailure(seen.indexOf("a5")) : null);
		assertThat(BatchOf.text(executed).replace("null", "b1")).isEqualTo("~ a4 b1 - -");
		assertThat(executed.failedAt()).isEqualTo(3);
		assertThat(executed.failure()).isInstanceOf(IndexFailure.class);
		assertThat(batch.runs()).containsExactly("b1 a5 c1", (mode == Mode.LEASED) ? "a4" : "a4 b1");
		assertThat(batch.record("a").version()).isEqualTo(4);
		assertThat(batch.record("b").state()).isEqualTo(State.COMPLETED);
		assertThat(BatchOf.text(batch.run("a5 c1"))).isEqualTo("a5 c1");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-5")
	void eachVersionThatFailsLeavesTheNextLowerOne(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a1 a2 a3", (seen) -> new IndexFailure(0));
		assertThat(BatchOf.text(executed)).isEqualTo("- - -");
		assertThat(executed.failedAt()).isZero();
		assertThat(batch.runs()).containsExactly("a3", "a2", "a1");
		assertThat(batch.record("a").state()).isEqualTo(State.FAILED);
		assertThat(BatchOf.text(batch.run("a1 a2 a3"))).isEqualTo("~ ~ a3");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-5")
	void wholeBatchIsRedeliveredIfTheFailedItemIsUnknown(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a3 b1 a5", (seen) -> new IllegalStateException("failed"));
		assertThat(BatchOf.text(executed)).isEqualTo("- - -");
		assertThat(batch.runs()).containsExactly("b1 a5");
		assertThat(BatchOf.text(batch.run("a3 b1 a5"))).isEqualTo("~ b1 a5");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-8")
	void versionBeforeARefusedOneIsSkippedAlthoughALaterRunFails(Mode mode) {
		BatchOf batch = batch(mode);
		AtomicInteger calls = new AtomicInteger();
		BatchResult<String> executed = batch.run("a5! b1 a7!",
				(seen) -> (calls.getAndIncrement() == 0)
						? new IndexFailure(seen.indexOf("a7!"), new OperationDeclinedException("closed"))
						: new IndexFailure(0));
		if (mode == Mode.TRANSACTIONAL) {
			assertThat(BatchOf.text(executed)).startsWith("~ - ");
			assertThat(executed.failedAt()).isOne();
			assertThat(executed.failure()).isInstanceOf(IndexFailure.class);
		}
		else {
			// The items before the refused one are completed with it.
			assertThat(executed.results()).doesNotContainNull();
		}
		assertThat(batch.record("a").version()).isEqualTo(7);
	}

	// Nothing could be stored, so that a duplicate would run.
	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void itemWithoutAKeyCannotBeDeclined(Mode mode) {
		BatchOf batch = batch(mode);
		BatchResult<String> executed = batch.run("a - b", (seen) -> seen.contains("-")
				? new IndexFailure(seen.indexOf("-"), new OperationDeclinedException("closed")) : null);
		assertThat(executed.failedAt()).isOne();
		assertThat(executed.failure()).isInstanceOf(IndexFailure.class);
		assertThat(executed.results()).element(0).isNotNull();
		assertThat(BatchOf.text(executed)).endsWith(" - -");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void keyWithAndWithoutAVersionIsAMisuse(Mode mode) {
		assertThatIllegalArgumentException().isThrownBy(() -> batch(mode).run("a a5"))
			.withMessage("The operations of a key must all have a version, or none");
	}

	@ParameterizedTest
	@CsvSource({ "LEASED, a", "TRANSACTIONAL, a", "LEASED, x", "TRANSACTIONAL, x" })
	@Tag("promise-2")
	void lowerVersionIsNotAcknowledgedWhileTheHighestOneIsNotRun(Mode mode, String blocked) {
		BatchOf batch = batch(mode);
		ClaimRequest other = batch.hold(blocked);
		BatchResult<String> executed = batch.run("b1 a3 x a5 | c1");
		assertThat(BatchOf.text(executed)).isEqualTo("b1 - - - c1");
		assertThat(executed.blocked()).containsKey(1);
		assertThat(batch.runs()).containsExactly("b1 c1");
		one(database.store()).release(other);
		assertThat(BatchOf.text(batch.run("a3 x a5"))).isEqualTo("~ x a5");
	}

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	@Tag("promise-2")
	void versionsOfOneKeyInSeveralLanes(Mode mode) {
		BatchOf batch = batch(mode);
		assertThat(BatchOf.text(batch.run("a3 b1 | a5 c1 | a4"))).isEqualTo("~ b1 a5 c1 ~");
		ClaimRequest other = batch.hold("z");
		BatchResult<String> executed = batch.run("z6 b2 | z8 c2 | d1 z7");
		assertThat(BatchOf.text(executed)).isEqualTo("- - - - d1 -");
		assertThat(executed.blocked()).containsKeys(0, 2, 5);
		one(database.store()).release(other);
	}

}
