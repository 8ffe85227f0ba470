/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.Observations.Observation;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestDynamoDb;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for claims that several processes observe.
 */
class TakeOverTests {

	private static final Duration LEASE = Duration.ofMillis(600);

	private static final int OBSERVERS = 8;

	@RegisterExtension
	static TestDynamoDb dynamoDb = TestDynamoDb.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest owner = TestDatabase.request(this.key, LEASE);

	private ClaimRequest newRequest() {
		return TestDatabase.request(this.key);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-7")
	void oneOfManyObserversTakesADeadClaimOver() throws Exception {
		for (int round = 0; round < 3; round++) {
			ClaimRequest dead = TestDatabase.request(TestDatabase.newKey(), LEASE);
			long asked = System.nanoTime();
			one(dynamoDb.store()).claim(dead);
			List<Claim.Acquired> owners = observe(dead.key(), (round - 1) * 5);
			assertThat(owners).containsExactly(new Claim.Acquired(2, 2));
			assertThat(System.nanoTime() - asked).isGreaterThanOrEqualTo(LEASE.toNanos());
			assertThat(one(dynamoDb.store()).complete(dead, null)).isEqualTo(Settlement.LOST);
		}
	}

	// Each observer is a process with a clock of its own, and polls until one of them has
	// the key.
	private List<Claim.Acquired> observe(IdempotencyKey observed, int hoursAhead) throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(OBSERVERS);
		try {
			List<Future<Claim>> observers = new ArrayList<>();
			for (int i = 0; i < OBSERVERS; i++) {
				DynamoDbIdempotencyStore store = Processes.withClock(dynamoDb, Duration.ofHours(hoursAhead * i),
						Duration.ZERO);
				observers.add(threads.submit(() -> {
					Claim claim = one(store).claim(TestDatabase.request(observed));
					while (!(claim instanceof Claim.Acquired)
							&& one(dynamoDb.store()).find(observed).orElseThrow().fence() == 1) {
						claim = one(store).claim(TestDatabase.request(observed));
					}
					return claim;
				}));
			}
			List<Claim.Acquired> owners = new ArrayList<>();
			for (Future<Claim> observer : observers) {
				if (observer.get(60, TimeUnit.SECONDS) instanceof Claim.Acquired acquired) {
					owners.add(acquired);
				}
			}
			return owners;
		}
		finally {
			threads.shutdownNow();
		}
	}

	@Test
	@Tag("promise-2")
	void ownersThatRenewAreNeverTakenOverWhateverTheirClocks() {
		List<Renewing> owners = Stream.of(-5, 0, 5).map(Duration::ofHours).map(Renewing::new).toList();
		DynamoDbIdempotencyStore other = Processes.another(dynamoDb);
		long end = System.nanoTime() + Renewing.LEASE.multipliedBy(3).dividedBy(2).toNanos();
		while (System.nanoTime() < end) {
			for (Renewing each : owners) {
				each.renewInTime();
				assertThat(one(other).claim(TestDatabase.request(each.claim.key())))
					.isInstanceOf(Claim.InProgress.class);
			}
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
		}
		assertThat(owners)
			.allSatisfy((each) -> assertThat(one(each.store).complete(each.claim, null)).isEqualTo(Settlement.SETTLED));
	}

	@Test
	@Tag("promise-2")
	void observerWaitsForTheLeaseOfTheOwnerAndNotForItsOwn() {
		one(dynamoDb.store()).claim(TestDatabase.request(this.key, LEASE.multipliedBy(100)));
		DynamoDbIdempotencyStore other = Processes.another(dynamoDb);
		assertThat(one(other).claim(TestDatabase.request(this.key, Duration.ofMillis(1)))).isInstanceOfSatisfying(
				Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(LEASE.multipliedBy(90), LEASE.multipliedBy(100)));
		assertThat(one(other).claim(TestDatabase.request(this.key, Duration.ofMillis(1))))
			.isInstanceOf(Claim.InProgress.class);
	}

	@Test
	void eachProcessObservesAWholeLeaseItself() {
		one(dynamoDb.store()).claim(this.owner);
		DynamoDbIdempotencyStore first = Processes.another(dynamoDb);
		assertThat(one(first).claim(newRequest())).isInstanceOf(Claim.InProgress.class);
		await().atMost(LEASE.multipliedBy(20)).until(() -> !Processes.isAlive(first, newRequest()));
		DynamoDbIdempotencyStore restarted = Processes.another(dynamoDb);
		assertThat(restarted.lookUp(newRequest())).isInstanceOf(Claim.InProgress.class);
		assertThat(one(first).claim(newRequest())).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	@Tag("promise-2")
	void claimThatIsRestoredAfterAnEvictionIsObservedAnew() {
		one(dynamoDb.store()).claim(this.owner);
		DynamoDbIdempotencyStore other = Processes.another(dynamoDb);
		assertThat(one(other).claim(newRequest())).isInstanceOf(Claim.InProgress.class);
		await().atMost(LEASE.multipliedBy(20)).until(() -> !Processes.isAlive(other, newRequest()));
		dynamoDb.store().records().orElseThrow().evict(this.key, true);
		dynamoDb.store().restore(this.owner, new Claim.Acquired(1, 1));
		assertThat(one(other).claim(newRequest())).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-2")
	void operatorReleasesAClaimOnlyWhenItsProcessHasSeenItForAWholeLease() {
		one(dynamoDb.store()).claim(this.owner);
		DynamoDbIdempotencyStore ahead = Processes.withClock(dynamoDb, Duration.ofHours(5), Duration.ZERO);
		assertThat(ahead.records().orElseThrow().release(this.key, false)).isEqualTo(Change.ALIVE);
		assertThat(ahead.records().orElseThrow().evict(this.key, false)).isEqualTo(Change.ALIVE);
		await().atMost(LEASE.multipliedBy(20))
			.until(() -> ahead.records().orElseThrow().release(this.key, false), Change.DONE::equals);
		assertThat(one(dynamoDb.store()).complete(this.owner, null)).isEqualTo(Settlement.LOST);
	}

	@ParameterizedTest
	@ValueSource(ints = { -4, 4 })
	@Tag("promise-3")
	void completedKeyIsNotForgottenEarlyByClocksWithinTheLimit(int minutesAhead) {
		Duration limit = Duration.ofMinutes(5);
		DynamoDbIdempotencyStore own = Processes.withClock(dynamoDb, Duration.ofMinutes(-minutesAhead), limit);
		DynamoDbIdempotencyStore other = Processes.withClock(dynamoDb, Duration.ZERO, limit);
		ClaimRequest request = new ClaimRequest(this.key, this.owner.token(), null, LEASE, Duration.ofSeconds(1));
		one(own).claim(request);
		one(own).complete(request, null);
		assertThat(one(other).claim(newRequest())).isInstanceOf(Claim.Completed.class);
		DynamoDbIdempotencyStore later = Processes.withClock(dynamoDb, Duration.ofMinutes(10), limit);
		assertThat(one(later).claim(newRequest())).isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	void itemIsDeletedAfterItsRetentionAndTheLimitOfClocks() {
		Duration limit = Duration.ofMinutes(5);
		DynamoDbIdempotencyStore store = Processes.withClock(dynamoDb, Duration.ZERO, limit);
		one(store).claim(this.owner);
		long expires = dynamoDb.record(this.key).expiresAt().plus(limit).getEpochSecond();
		assertThat(timeToLive()).isEqualTo(expires + 1);
		ClaimRequest longer = new ClaimRequest(this.key, this.owner.token(), null, Duration.ofDays(2),
				this.owner.retention());
		one(store).renew(longer);
		assertThat(timeToLive()).isGreaterThan(expires + Duration.ofDays(1).toSeconds());
		one(store).complete(this.owner, null);
		assertThat(timeToLive()).isEqualTo(expires + 1);
	}

	private long timeToLive() {
		return Long.parseLong(dynamoDb.client()
			.getItem(
					(request) -> request.tableName(dynamoDb.table()).key(RecordItem.key(this.key)).consistentRead(true))
			.item()
			.get(RecordItem.TTL)
			.n());
	}

	@Test
	void numberOfObservationsIsLimitedAndTheOldOnesContinue() {
		Observations observations = new Observations(3);
		List<IdempotencyKey> keys = IntStream.range(0, 4).mapToObj((i) -> TestDatabase.newKey()).toList();
		RecordItem item = new RecordItem(Map.of("token", AttributeValue.fromS("t"), "beat", AttributeValue.fromN("1"),
				"lease", AttributeValue.fromN("1000")));
		long lease = Duration.ofSeconds(1).toNanos();
		keys.forEach((each) -> observations.observe(each.id(), item, 0));
		assertThat(observations.size()).isEqualTo(3);
		assertThat(observations.findExpired(keys.get(0).id(), lease)).isNotNull();
		assertThat(observations.findExpired(keys.get(3).id(), lease)).isNull();
		Observation late = observations.observe(keys.get(3).id(), item, lease);
		assertThat(late.remaining(lease)).isEqualTo(Duration.ofSeconds(1));
		keys.subList(1, 3).forEach((each) -> observations.observe(each.id(), item, 3 * lease));
		observations.observe(keys.get(3).id(), item, 3 * lease);
		assertThat(observations.size()).isEqualTo(3);
		assertThat(observations.findExpired(keys.get(0).id(), 3 * lease)).isNull();
		assertThat(observations.findExpired(keys.get(3).id(), 4 * lease)).isNotNull();
	}

	/**
	 * An owner whose process has a clock of its own.
	 */
	private static final class Renewing {

		// Longer than a busy machine pauses.
		static final Duration LEASE = Duration.ofSeconds(4);

		// The server deletes items by its own clock, also those of a clock that is
		// behind.
		private final ClaimRequest claim = new ClaimRequest(TestDatabase.newKey(), UUID.randomUUID(), null, LEASE,
				Duration.ofDays(1));

		private final DynamoDbIdempotencyStore store;

		private long renewed = System.nanoTime();

		Renewing(Duration ahead) {
			this.store = Processes.withClock(dynamoDb, ahead, Duration.ZERO);
			one(this.store).claim(this.claim);
		}

		void renewInTime() {
			long now = System.nanoTime();
			if (now - this.renewed > LEASE.toNanos() / 4) {
				assertThat(one(this.store).renew(this.claim)).isEqualTo(Settlement.SETTLED);
				this.renewed = now;
			}
		}

	}

}
