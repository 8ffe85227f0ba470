/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate.Settings;
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
 * Tests for {@link ClaimAhead}.
 */
class ClaimAheadTests {

	private final IdempotencyStore records = new InMemoryIdempotencyStore();

	private final UnreliableStore store = new UnreliableStore(this.records);

	private final RecordingObserver listener = new RecordingObserver();

	private final CircuitBreaker breaker = CircuitBreaker.ofDefaults("claim-ahead");

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, null, false, new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE,
					this.listener.observers(), List.of(), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE,
					null, OperationSpec.Defaults.STANDARD));

	private final IdempotentOperation first = operation(TestDatabase.newKey());

	private final IdempotentOperation second = operation(TestDatabase.newKey());

	private @Nullable IdempotentOperation next = this.second;

	private final ClaimAhead ahead = this.template.claimAhead(() -> this.next);

	@AfterEach
	void closeTemplate() {
		this.store.recover();
		this.template.close();
	}

	private static IdempotentOperation operation(IdempotencyKey key) {
		return TestDatabase.operation(key, Mode.LEASED);
	}

	private static IdempotentOperation operation(IdempotencyKey key, Duration lease) {
		return TestDatabase.operation(key, Mode.LEASED, null, lease);
	}

	private IdempotentResult<String> deliver(IdempotentOperation operation, @Nullable IdempotentOperation behind) {
		return deliver(operation, behind, () -> {
		});
	}

	private IdempotentResult<String> deliver(IdempotentOperation operation, @Nullable IdempotentOperation behind,
			Runnable handler) {
		this.next = behind;
		this.ahead.begin();
		try {
			return this.template.execute(operation, new TextCodec(), TransactionBoundary.DEFAULT, this.ahead, () -> {
				handler.run();
				return "done";
			});
		}
		finally {
			this.ahead.end();
		}
	}

	private State state(IdempotentOperation operation) {
		return record(operation).state();
	}

	private IdempotencyRecord record(IdempotentOperation operation) {
		return one(this.records).find(operation.key()).orElseThrow();
	}

	private List<String> calls() {
		return this.listener.storeCalls().stream().map((call) -> call.replace("unreliable ", "")).toList();
	}

	@Test
	void nextOperationIsClaimedWithTheCompletion() {
		deliver(this.first, this.second);
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(state(this.second)).isEqualTo(State.IN_PROGRESS);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
		assertThat(record(this.second))
			.extracting(IdempotencyRecord::state, IdempotencyRecord::fence, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 1, 1);
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "COMPLETE");
	}

	@Test
	void nextOperationIsClaimedAtItsDeliveryIfNothingIsClaimedAhead() {
		this.template.execute(this.first, new TextCodec(), TransactionBoundary.DEFAULT, null, () -> "done");
		this.template.execute(this.second, new TextCodec(), () -> "done");
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "CLAIM", "COMPLETE");
	}

	@Test
	void claimThatIsMadeDuringTheCloseIsReleased() {
		this.store.beforeClaimAhead(this.template::close);
		deliver(this.first, this.second);
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(state(this.second)).isEqualTo(State.FAILED);
	}

	@Test
	void claimIsReleasedWhenAnotherOperationIsDelivered() {
		deliver(this.first, this.second);
		IdempotentOperation other = operation(TestDatabase.newKey());
		assertThat(deliver(other, null).duplicate()).isFalse();
		assertThat(state(this.second)).isEqualTo(State.FAILED);
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "RELEASE", "CLAIM", "COMPLETE");
		deliver(this.second, null);
		assertThat(record(this.second).attempt()).isOne();
	}

	@Test
	void claimIsReleasedWhenItsRecordIsNotProcessed() {
		deliver(this.first, this.second);
		this.ahead.begin();
		this.ahead.end();
		assertThat(state(this.second)).isEqualTo(State.FAILED);
	}

	@Test
	void claimIsReleasedWhenTheContentOfItsRecordHasChanged() {
		deliver(this.first, this.second);
		IdempotentOperation changed = TestDatabase.operation(this.second.key(), Mode.LEASED,
				Fingerprint.of(new byte[] { 1 }), TestDatabase.LEASE);
		assertThat(deliver(changed, null).duplicate()).isFalse();
		assertThat(record(this.second)).extracting(IdempotencyRecord::state, IdempotencyRecord::fence)
			.containsExactly(State.COMPLETED, 2);
	}

	@Test
	void claimIsReleasedWhenAnotherRecordHasItsKey() {
		deliver(this.first, this.second);
		deliver(new IdempotentOperation(this.second.key(), "payments", "topic-0@8", Mode.LEASED, null,
				TestDatabase.LEASE, TestDatabase.RETENTION, null, null), null);
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "RELEASE", "CLAIM", "COMPLETE");
	}

	@Test
	void claimIsReleasedOnRequest() {
		deliver(this.first, this.second);
		this.ahead.release();
		assertThat(state(this.second)).isEqualTo(State.FAILED);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
	}

	@Test
	void nothingIsClaimedAheadAfterTheEnd() {
		this.template.close();
		deliver(this.first, this.second);
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(one(this.records).find(this.second.key())).isEmpty();
	}

	// An operator has evicted the key while the consumer was paused.
	@Test
	void completionThatWasReadLongAgoIsReadAgain() {
		deliver(this.second, null);
		deliver(this.first, this.second);
		this.records.records().orElseThrow().evict(this.second.key(), false);
		await().pollDelay(Duration.ofMillis(1100)).until(() -> true);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
	}

	@Test
	@Tag("promise-3")
	void completionThatWasReadBeforeTheEvictionIsReadAgain() {
		this.store.showRecords();
		deliver(this.second, null);
		deliver(this.first, this.second);
		this.template.admin().evict(this.second.key(), false, "operator");
		assertThat(deliver(this.second, null).duplicate()).isFalse();
	}

	@Test
	void claimOfAThreadThatDoesNotReturnIsReleasedSoon() {
		deliver(this.first, this.second);
		await().atMost(Duration.ofSeconds(10)).until(() -> state(this.second) == State.FAILED);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
		assertThat(record(this.second).fence()).isEqualTo(2);
	}

	@Test
	void claimsAreReleasedWhenTheTemplateIsClosed() {
		deliver(this.first, this.second);
		this.template.close();
		assertThat(state(this.second)).isEqualTo(State.FAILED);
	}

	@Test
	void claimWithLessThanHalfOfItsLeaseIsReleased() {
		IdempotentOperation brief = operation(this.second.key(), Duration.ofMillis(300));
		deliver(this.first, brief);
		await().pollDelay(Duration.ofMillis(160)).until(() -> true);
		assertThat(deliver(brief, null).duplicate()).isFalse();
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "RELEASE", "CLAIM", "COMPLETE");
	}

	@Test
	void nothingIsClaimedAheadAfterALongHandler() {
		deliver(operation(this.first.key(), Duration.ofMillis(200)), this.second,
				() -> await().pollDelay(Duration.ofMillis(60)).until(() -> true));
		assertThat(one(this.records).find(this.second.key())).isEmpty();
	}

	@Test
	void fewerClaimsAreMadeAfterUnusedOnes() {
		for (int i = 0; i < 100; i++) {
			deliver(operation(TestDatabase.newKey()), operation(TestDatabase.newKey()));
		}
		assertThat(calls().stream().filter("RELEASE"::equals)).hasSizeBetween(4, 8);
	}

	@Test
	@Tag("promise-3")
	void copyOfTheCurrentRecordIsADuplicate() {
		deliver(this.first, this.first);
		assertThat(deliver(this.first, null).duplicate()).isTrue();
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE", "CLAIM");
	}

	@Test
	@Tag("promise-3")
	void resultOfACompletedNextOperationIsReplayedWithoutACall() {
		this.template.execute(this.second, new TextCodec(), () -> "before");
		this.listener.storeCalls().clear();
		deliver(this.first, this.second);
		assertThat(deliver(this.second, null)).isEqualTo(new IdempotentResult<>("before", true));
		assertThat(calls()).containsExactly("CLAIM", "COMPLETE");
	}

	@Test
	@Tag("promise-2")
	void nextOperationOfAnotherOwnerIsClaimedAtItsDelivery() {
		ClaimRequest other = TestDatabase.request(this.second.key());
		one(this.records).claim(other);
		deliver(this.first, this.second);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> deliver(this.second, null));
		one(this.records).release(other);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
	}

	@Test
	void nothingIsClaimedAheadWhenTheHandlerFails() {
		assertThatIllegalStateException().isThrownBy(() -> deliver(this.first, this.second, () -> {
			throw new IllegalStateException();
		}));
		assertThat(state(this.first)).isEqualTo(State.FAILED);
		assertThat(one(this.records).find(this.second.key())).isEmpty();
	}

	@Test
	void nothingIsClaimedAheadOfACallersTransaction() {
		this.next = this.second;
		this.ahead.begin();
		this.template.execute(this.first, new TextCodec(), TransactionBoundary.deferred(PendingCompletion::complete),
				this.ahead, () -> "done");
		this.ahead.end();
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(one(this.records).find(this.second.key())).isEmpty();
	}

	@Test
	void nothingIsClaimedAheadWhenTheNextRecordCannotBeResolved() {
		ClaimAhead broken = this.template.claimAhead(() -> {
			throw new IllegalStateException("no key");
		});
		broken.begin();
		this.template.execute(this.first, new TextCodec(), TransactionBoundary.DEFAULT, broken, () -> "done");
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "unavailable", "contended", "garbled", "broken" })
	@Tag("promise-1")
	void completionIsRecordedAloneWhenTheClaimFails(String problem) {
		this.store.beforeClaimAhead(() -> {
			switch (problem) {
				case "unavailable" -> this.store.fail(StoreCall.CLAIM);
				case "contended" -> this.store.contend(StoreCall.CLAIM);
				case "garbled" -> this.store.garble(StoreCall.CLAIM);
				default -> this.store.breakOnce(StoreCall.CLAIM);
			}
		});
		deliver(this.first, this.second);
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		this.store.recover();
		assertThat(deliver(this.second, null).duplicate()).isFalse();
		assertThat(state(this.second)).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-2")
	void claimWhoseAnswerIsLostIsReleased() {
		this.store.beforeClaimAhead(() -> this.store.loseAnswers(StoreCall.CLAIM));
		deliver(this.first, this.second);
		this.store.recover();
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(deliver(this.second, null).duplicate()).isFalse();
		assertThat(state(this.second)).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-11")
	void completionIsPendingWhenTheStoreIsUnavailable() {
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> deliver(this.first, this.second, () -> this.store.fail(StoreCall.values())));
		this.store.recover();
		assertThat(deliver(this.first, this.second).duplicate()).isTrue();
		assertThat(deliver(this.second, null).duplicate()).isFalse();
	}

	@Test
	@Tag("promise-4")
	void ownerThatHasLostItsKeyClaimsNothingAhead() {
		IdempotentOperation brief = operation(this.first.key(), Duration.ofMillis(200));
		this.store.fail(StoreCall.RENEW);
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(() -> deliver(brief, this.second,
				() -> this.records.records().orElseThrow().release(this.first.key(), true)));
		one(this.records).find(this.second.key())
			.ifPresent((record) -> assertThat(record.state()).isNotEqualTo(State.IN_PROGRESS));
	}

	@Test
	@Tag("promise-11")
	void nothingIsClaimedAheadWhileTheCircuitIsOpen() {
		deliver(this.first, this.second, this.breaker::transitionToOpenState);
		assertThat(state(this.first)).isEqualTo(State.COMPLETED);
		assertThat(one(this.records).find(this.second.key())).isEmpty();
	}

	@Test
	void storeWithoutSupportClaimsNothingAhead() {
		IdempotencyStore plain = (IdempotencyStore) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { IdempotencyStore.class },
				(proxy, method, arguments) -> method.getName().equals("supportsClaimAhead") ? false
						: method.invoke(this.records, arguments));
		try (IdempotencyTemplate without = new IdempotencyTemplate(plain,
				new Settings(null, false, Observers.none()))) {
			assertThat(without.supportsClaimAhead()).isFalse();
			assertThatIllegalStateException().isThrownBy(() -> without.claimAhead(() -> null));
		}
	}

}
