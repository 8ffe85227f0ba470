/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;
import org.springframework.util.unit.DataSize;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbServiceClientConfiguration;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.DynamoDbCalls.Update;
import dev.idempotency.dynamodb.Observations.Observation;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The store in DynamoDB. Each transition of a record is one conditional
 * {@code UpdateItem} of one item.
 * <p>
 * DynamoDB has no clock that a condition can use. A claim of another owner has expired
 * when this process has seen it unchanged for the whole lease that its owner has written,
 * by the monotonic clock of this process. The clocks of the clients decide only when the
 * retention of a completed key ends, and then with a margin.
 *
 * @since 0.1.0
 */
public final class DynamoDbIdempotencyStore implements IdempotencyStore, AutoCloseable {

	/**
	 * The largest result that fits into an item with the longest key. An item holds 400
	 * KB.
	 */
	public static final DataSize MAX_RESULT_SIZE = DataSize.ofKilobytes(390);

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	// Each further try means that another owner has changed the key in between.
	private static final int TRIES = 3;

	private final Observations observations = new Observations(Observations.MAX);

	private final DynamoDbCalls calls;

	private final RecordUpdates updates;

	private final DynamoDbRecords records;

	private volatile @Nullable String warning;

	/**
	 * Create a store.
	 * @param client the client, which the application closes
	 * @param table the name of the table
	 * @param timeout timeout of a call, 100 ms or more
	 * @param maxClockSkew the largest difference between the clocks of any two clients. A
	 * completed key is remembered longer than its retention by this time, so that no
	 * client forgets it too early
	 * @throws IdempotencyConfigurationException if an argument is out of its range
	 */
	public DynamoDbIdempotencyStore(DynamoDbClient client, String table, Duration timeout, Duration maxClockSkew) {
		this(client, table, timeout, maxClockSkew, Clock.systemUTC());
	}

	DynamoDbIdempotencyStore(DynamoDbClient client, String table, Duration timeout, Duration maxClockSkew,
			InstantSource clock) {
		Deadline.requireTimeout(timeout);
		IdempotencyConfigurationException.check(!maxClockSkew.isNegative(),
				"'idempotency.dynamodb.max-clock-skew' is " + maxClockSkew + ".",
				"Set 'idempotency.dynamodb.max-clock-skew' to the largest difference between the clocks of two "
						+ "instances.");
		this.calls = new DynamoDbCalls(client, table, timeout);
		this.updates = new RecordUpdates(table, clock, maxClockSkew);
		this.records = new DynamoDbRecords(this.calls, this.updates, this.observations);
	}

	@Override
	public String name() {
		return "dynamodb";
	}

	/**
	 * Whether another store has the same records.
	 * @param other the other store
	 * @return whether both use the same table of the same region and endpoint
	 */
	public boolean hasSameRecords(DynamoDbIdempotencyStore other) {
		DynamoDbServiceClientConfiguration one = this.calls.client().serviceClientConfiguration();
		DynamoDbServiceClientConfiguration another = other.calls.client().serviceClientConfiguration();
		return this.calls.table().equals(other.calls.table()) && one.region().equals(another.region())
				&& one.endpointOverride().equals(another.endpointOverride());
	}

	private Claim claim(ClaimRequest request, Deadline deadline) {
		UUID id = request.key().id();
		Duration remaining = Duration.ZERO;
		for (int tries = 0; tries < TRIES; tries++) {
			Observation expired = this.observations.findExpired(id, System.nanoTime());
			Update update = this.calls.update(this.updates.claim(request, expired), deadline);
			RecordItem item = update.item();
			if (item == null) {
				continue;
			}
			if (update.applied() || item.isCompleted()) {
				this.observations.end(id);
			}
			Claim claim = update.applied() ? new Claim.Acquired(item.fence(), item.attempt()) : taken(request, item);
			if (claim != null) {
				return claim;
			}
			if (isOwnClaim(request, item)) {
				// The SDK has repeated the request, or the caller repeats its claim.
				if (this.calls.update(this.updates.renew(request), deadline).applied()) {
					return new Claim.Acquired(item.fence(), item.attempt());
				}
			}
			else if (item.isInProgress()) {
				remaining = item.lease();
			}
		}
		// Other owners have been faster each time.
		return new Claim.InProgress(remaining);
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		RecordItem item = this.calls.get(request.key(), this.calls.deadline());
		if (item == null) {
			return new Claim.Acquired(1, 1);
		}
		Claim taken = (!item.isCompleted() || this.updates.isRetained(item)) ? taken(request, item) : null;
		if (taken != null) {
			return taken;
		}
		return isOwnClaim(request, item) ? new Claim.Acquired(item.fence(), item.attempt())
				: new Claim.Acquired(item.fence() + 1, item.next());
	}

	private static boolean isOwnClaim(ClaimRequest request, RecordItem item) {
		return item.isInProgress() && item.isOwnedBy(request);
	}

	// The answer if the key is not free. The fingerprint of a later claim is not that of
	// the version that has completed.
	private @Nullable Claim taken(ClaimRequest request, RecordItem item) {
		if (isOwnClaim(request, item)) {
			return null;
		}
		Long version = request.version();
		Long completed = item.version();
		if (version != null && completed != null && completed >= version) {
			if (completed > version) {
				return new Claim.Stale(completed);
			}
			if (!item.isCompleted()) {
				return new Claim.Completed(item.result());
			}
		}
		else if (version != null && item.isCompleted()) {
			return null;
		}
		if (item.isCompleted()) {
			return differs(request, item) ? new Claim.Mismatch() : new Claim.Completed(item.result());
		}
		long now = System.nanoTime();
		Observation observed = item.isInProgress() ? this.observations.observe(request.key().id(), item, now) : null;
		if (observed == null || observed.isExpired(now)) {
			return null;
		}
		return (version == null && differs(request, item)) ? new Claim.Mismatch()
				: new Claim.InProgress(observed.remaining(now));
	}

	private static boolean differs(ClaimRequest request, RecordItem item) {
		return Fingerprint.differs(request.key(), item.fingerprint(), request.fingerprint());
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		Deadline deadline = this.calls.deadline();
		boolean held = this.calls.update(this.updates.restore(claim, acquired), deadline).applied()
				|| this.calls.update(this.updates.renew(claim), deadline).applied();
		return held ? Settlement.SETTLED : Settlement.LOST;
	}

	// The parameter 'repeated' returns whether the item shows that it is settled so.
	private Settlement settle(ClaimRequest claim, UpdateItemRequest request, Deadline deadline,
			Predicate<RecordItem> repeated) {
		Update update = this.calls.update(request, deadline);
		if (update.applied()) {
			return Settlement.SETTLED;
		}
		RecordItem item = update.item();
		if (item == null) {
			return Settlement.FORGOTTEN;
		}
		return (item.isOwnedBy(claim) && repeated.test(item)) ? Settlement.SETTLED : Settlement.LOST;
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return this.calls.all(requests, this::claim);
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		return this.calls.all(endings, (ending, deadline) -> settle(ending.claim(), this.updates.settle(ending),
				deadline, (ending instanceof Ending.Completed) ? RecordItem::isCompleted : RecordItem::isFailed));
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return this.calls.all(claims,
				(claim, deadline) -> settle(claim, this.updates.renew(claim), deadline, (item) -> false));
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return this.calls.all(keys.stream().distinct().toList(), this::find)
			.stream()
			.flatMap(Optional::stream)
			.collect(Collectors.toMap(IdempotencyRecord::key, Function.identity()));
	}

	private Optional<IdempotencyRecord> find(IdempotencyKey key, Deadline deadline) {
		return Optional.ofNullable(this.calls.get(key, deadline)).map((item) -> item.toRecord(key));
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	// It needs no permission that a claim does not need, except GetItem.
	@Override
	public void ping() {
		this.calls.get(PING, this.calls.deadline());
	}

	/**
	 * The findings of the {@linkplain #tableCheck table check} that do not prevent the
	 * operation.
	 */
	@Override
	public Optional<String> warning() {
		return Optional.ofNullable(this.warning);
	}

	void warn(@Nullable String warning) {
		this.warning = warning;
	}

	/**
	 * Create a check of the table at the start of the application. A missing table or one
	 * with another key fails the start with an {@link IdempotencyConfigurationException}.
	 * A table whose items are not deleted, or that is replicated to other Regions, is
	 * logged and returned by {@link #warning()}.
	 * @param create whether to create a missing table, for development
	 * @return the check, to be started before the listener containers
	 */
	public Lifecycle tableCheck(boolean create) {
		return new DynamoDbTableCheck(this, this.calls.client(), this.calls.table(), create);
	}

	/**
	 * Stop the threads of the store. The client stays open.
	 */
	@Override
	public void close() {
		this.calls.close();
	}

}
