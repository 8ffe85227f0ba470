/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.DynamoDbServer;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestDynamoDb;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a {@link DynamoDbIdempotencyStore} whose server is unavailable, throttles or
 * refuses requests, or whose answers are lost.
 */
@Tag("promise-11")
class DynamoDbUnavailableTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(1);

	private static final Duration BOUND = TIMEOUT.plusSeconds(10);

	private static final String LATE = "DynamoDB did not answer within " + TIMEOUT;

	private static final Faults faults = new Faults();

	// Frozen and stopped, so it is not the shared one.
	private static DynamoDbServer server;

	private static TestDynamoDb dynamoDb;

	private static DynamoDbClient client;

	private static DynamoDbIdempotencyStore store;

	private static DynamoDbClient once;

	// With a short timeout and without the repetitions of the SDK.
	private static DynamoDbIdempotencyStore brief;

	private final ClaimRequest request = TestDatabase.request(TestDatabase.newKey());

	@BeforeAll
	static void startServer() {
		server = DynamoDbServer.create();
		dynamoDb = TestDynamoDb.create(server);
		client = faults.client(dynamoDb);
		store = new DynamoDbIdempotencyStore(client, dynamoDb.table(), TestDynamoDb.TIMEOUT, Duration.ZERO);
		once = faults.clientWithoutRetries(dynamoDb);
		brief = new DynamoDbIdempotencyStore(once, dynamoDb.table(), TIMEOUT, Duration.ZERO);
		awaitAnswer();
	}

	@AfterAll
	static void stopServer() {
		store.close();
		client.close();
		brief.close();
		once.close();
		dynamoDb.close();
		server.stop();
	}

	private static void awaitAnswer() {
		await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(store::ping);
	}

	static Stream<Named<BiConsumer<DynamoDbIdempotencyStore, ClaimRequest>>> calls() {
		return Stream.of(Named.of("claim", (store, claim) -> one(store).claim(claim)),
				Named.of("claim all",
						(store, claim) -> store.claim(List.of(claim, TestDatabase.request(TestDatabase.newKey())))),
				Named.of("complete", (store, claim) -> one(store).complete(claim, null)),
				Named.of("fail", (store, claim) -> one(store).fail(claim, new Failure("x", null))),
				Named.of("release", (store, claim) -> one(store).release(claim)),
				Named.of("renew", (store, claim) -> one(store).renew(claim)),
				Named.of("restore", (store, claim) -> store.restore(claim, new Claim.Acquired(1, 1))),
				Named.of("look up", DynamoDbIdempotencyStore::lookUp),
				Named.of("find", (store, claim) -> one(store).find(claim.key())),
				Named.of("overview", (store, claim) -> store.records().orElseThrow().overview()),
				Named.of("evict", (store, claim) -> store.records().orElseThrow().evict(claim.key(), true)),
				Named.of("ping", (store, claim) -> store.ping()));
	}

	private static void assertUnavailable(String message, Runnable call) {
		long start = System.nanoTime();
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(call::run)
			.withMessage(message);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(BOUND);
	}

	@Test
	void callsEndWithinTheTimeoutWhenTheServerIsFrozen() {
		one(store).claim(this.request);
		server.freeze();
		try {
			calls().parallel()
				.forEach((call) -> assertUnavailable(LATE, () -> call.getPayload().accept(brief, this.request)));
		}
		finally {
			server.resume();
		}
		awaitAnswer();
	}

	@Test
	void storeKeepsItsRecordsOverARestartOfTheServer() {
		one(store).claim(this.request);
		server.stop();
		try {
			assertUnavailable("DynamoDB cannot be reached", () -> one(brief).complete(this.request, null));
		}
		finally {
			server.start();
		}
		await().atMost(Duration.ofSeconds(20))
			.ignoreExceptions()
			.until(() -> one(store).complete(this.request, null), Settlement.SETTLED::equals);
	}

	@ParameterizedTest
	@ValueSource(strings = { "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
			"ExpiredTokenException", "UnrecognizedClientException" })
	void errorThatConcernsEveryCallIsAnOutage(String code) {
		assertError(400, code, IdempotencyStoreUnavailableException.class);
	}

	@Test
	void serverErrorIsAnOutage() {
		assertError(503, "Unknown", IdempotencyStoreUnavailableException.class);
	}

	@ParameterizedTest
	@ValueSource(strings = { "AccessDeniedException", "ResourceNotFoundException", "ValidationException" })
	@Tag("promise-14")
	void errorThatConcernsThisCallIsARefusal(String code) {
		assertError(400, code, IdempotencyStoreRefusedException.class);
	}

	private void assertError(int status, String code, Class<? extends RuntimeException> expected) {
		faults.answer(status, code);
		try {
			// A client that repeats nothing may meet a connection that the server has
			// closed.
			calls().forEach((call) -> await().untilAsserted(() -> assertThatExceptionOfType(expected)
				.isThrownBy(() -> call.getPayload().accept(brief, this.request))
				.withMessage("DynamoDB refused the request (" + code + ")")));
		}
		finally {
			faults.end();
		}
	}

	@Test
	@Tag("promise-4")
	void claimThatTheSdkRepeatsCountsOnce() {
		faults.attempts();
		faults.loseAnswers(1);
		assertThat(one(store).claim(this.request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(faults.attempts()).isGreaterThan(1);
		one(store).fail(this.request, new Failure("x", null));
		ClaimRequest second = TestDatabase.request(this.request.key());
		faults.loseAnswers(1);
		assertThat(one(store).claim(second)).isEqualTo(new Claim.Acquired(2, 2));
		assertThat(dynamoDb.record(second.key()).fence()).isEqualTo(2);
	}

	@Test
	@Tag("promise-4")
	void settlementThatTheSdkRepeatsIsSettledOnce() {
		one(store).claim(this.request);
		faults.loseAnswers(1);
		assertThat(one(store).renew(this.request)).isEqualTo(Settlement.SETTLED);
		faults.loseAnswers(1);
		assertThat(one(store).release(this.request)).isEqualTo(Settlement.SETTLED);
		assertThat(dynamoDb.record(this.request.key()).attempt()).isZero();
		ClaimRequest second = TestDatabase.request(this.request.key());
		assertThat(one(store).claim(second)).isEqualTo(new Claim.Acquired(2, 1));
		faults.loseAnswers(1);
		assertThat(one(store).complete(second, null)).isEqualTo(Settlement.SETTLED);
		ClaimRequest third = TestDatabase.request(TestDatabase.newKey());
		faults.loseAnswers(1);
		assertThat(store.restore(third, new Claim.Acquired(7, 3))).isEqualTo(Settlement.SETTLED);
		assertThat(dynamoDb.record(third.key()).fence()).isEqualTo(7);
	}

	@Test
	void requestsAreOneForEachCall() {
		faults.attempts();
		one(store).claim(this.request);
		assertThat(faults.attempts()).isOne();
		assertThat(one(store).claim(TestDatabase.request(this.request.key()))).isInstanceOf(Claim.InProgress.class);
		assertThat(faults.attempts()).isOne();
		one(store).complete(this.request, null);
		assertThat(faults.attempts()).isOne();
		assertThat(one(store).claim(TestDatabase.request(this.request.key()))).isInstanceOf(Claim.Completed.class);
		assertThat(faults.attempts()).isOne();
	}

	@Test
	void interruptedThreadCompletesAndStaysInterrupted() {
		one(store).claim(this.request);
		Thread.currentThread().interrupt();
		assertThat(one(store).complete(this.request, null)).isEqualTo(Settlement.SETTLED);
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	void interruptedThreadClaimsABatchAndStaysInterrupted() {
		Thread.currentThread().interrupt();
		assertThat(store.claim(List.of(this.request, TestDatabase.request(TestDatabase.newKey()))))
			.containsOnly(new Claim.Acquired(1, 1));
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	@Tag("promise-14")
	void missingTableIsARefusal() {
		try (DynamoDbIdempotencyStore other = new DynamoDbIdempotencyStore(client, "missing", TestDynamoDb.TIMEOUT,
				Duration.ZERO)) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
				.isThrownBy(() -> one(other).claim(this.request))
				.withMessage("DynamoDB refused the request (ResourceNotFoundException)");
		}
	}

	@Test
	@Tag("promise-14")
	void resultThatDoesNotFitIntoAnItemIsARefusal() {
		one(store).claim(this.request);
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> one(store).complete(this.request, new byte[410 * 1024]))
			.withMessage("DynamoDB refused the request (ValidationException)");
		byte[] largest = new byte[(int) DynamoDbIdempotencyStore.MAX_RESULT_SIZE.toBytes()];
		assertThat(one(store).complete(this.request, largest)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	void closedStoreIsUnavailable() {
		DynamoDbClient own = server.client().build();
		DynamoDbIdempotencyStore closed = new DynamoDbIdempotencyStore(own, dynamoDb.table(), TIMEOUT, Duration.ZERO);
		closed.close();
		own.close();
		List<ClaimRequest> requests = List.of(this.request, TestDatabase.request(TestDatabase.newKey()));
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> closed.claim(requests));
	}

	@ParameterizedTest
	@MethodSource("invalidSettings")
	@Tag("promise-12")
	void invalidSettingsAreRefused(Duration timeout, Duration skew, String message) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new DynamoDbIdempotencyStore(client, "table", timeout, skew))
			.withMessage(message);
	}

	static Stream<Arguments> invalidSettings() {
		return Stream.of(Arguments.of(Duration.ofMillis(99), Duration.ZERO, "'idempotency.store.timeout' is PT0.099S."),
				Arguments.of(TIMEOUT, Duration.ofMillis(-1), "'idempotency.dynamodb.max-clock-skew' is PT-0.001S."));
	}

}
