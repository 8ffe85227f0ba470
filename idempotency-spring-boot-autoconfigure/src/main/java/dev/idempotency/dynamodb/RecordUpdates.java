/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.DeleteItemRequest;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.Observations.Observation;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;

/**
 * The conditional updates of the store. Each changes one item. A condition that fails
 * returns the item, so that no further request is needed to learn the reason.
 * <p>
 * The SDK repeats a request whose answer is missing. No update counts twice then, because
 * its condition fails once it has been applied, except for a renewal, which counts
 * nothing.
 *
 * @param table the name of the table
 * @param clock the clock of this process
 * @param maxClockSkew the largest difference between the clocks of two instances
 */
record RecordUpdates(String table, InstantSource clock, Duration maxClockSkew) {

	private static final Pattern NAME = Pattern.compile("#(\\w+)");

	private static final String CLAIMED = "SET #state = :p, #token = :token, #beat = :beat, #lease = :lease, "
			+ "#claimedUntil = :until, #scope = :scope, #key = :key, #expiresAt = :expires, #ttl = :ttl, "
			+ "#retainedUntil = :ttl, ";

	// The attempt of the next claim is stored, because an update cannot distinguish a
	// failed record from one whose retention has ended.
	private static final String CLAIM = CLAIMED
			+ "#fence = if_not_exists(#fence, :zero) + :one, #attempt = if_not_exists(#next, :one), "
			+ "#next = if_not_exists(#next, :one) + :one, #createdAt = if_not_exists(#createdAt, :now)";

	// The result stays until the next completion: that of the version that completed last
	// may be asked for while a higher one is in progress.
	private static final String OUTCOME = "#completedAt, #failure, #message";

	private static final String ABSENT = "attribute_not_exists(#id)";

	private static final String FREE = ABSENT + " OR (#state = :c AND #expiresAt <= :free) OR ";

	private static final String OBSERVED = "(#state = :p AND #token = :observed AND #beat = :observedBeat)";

	private static final String HIGHER = "(attribute_not_exists(#decided) OR #decided < :version)";

	private static final String OWNED = "#token = :token AND #state = :p";

	// In place of the longer time that a renewal may have set.
	private static final String ENDED = "#ttl = #retainedUntil REMOVE #claimedUntil";

	// Return the names of the attributes by their placeholders, which begin with a number
	// sign because some of the names are reserved words.
	static Map<String, String> names(String expression) {
		return NAME.matcher(expression)
			.results()
			.collect(Collectors.toMap(MatchResult::group, (name) -> name.group(1), (one, same) -> one, TreeMap::new));
	}

	Instant now() {
		return this.clock.instant();
	}

	private long endOfRetention() {
		return now().minus(this.maxClockSkew).toEpochMilli();
	}

	// Whether a completed key must not be claimed.
	boolean isRetained(RecordItem item) {
		return item.expiresAt().toEpochMilli() > endOfRetention();
	}

	UpdateItemRequest claim(ClaimRequest request, @Nullable Observation expired) {
		String observed = (expired != null) ? " OR " + OBSERVED : "";
		String free = FREE + ((request.version() != null)
				? "(" + HIGHER + " AND (#state = :f OR #state = :c" + observed + "))" : "#state = :f" + observed);
		boolean fingerprint = request.fingerprint() != null;
		return update(
				CLAIM + (fingerprint ? ", #fingerprint = :fingerprint REMOVE " : " REMOVE #fingerprint, ") + OUTCOME,
				free, request.key(),
				claimed(request).put(":f", RecordItem.FAILED)
					.put(":c", RecordItem.COMPLETED)
					.put(":zero", 0)
					.put(":one", 1)
					.put(":free", endOfRetention())
					.put(":version", request.version())
					.observed(expired));
	}

	UpdateItemRequest restore(ClaimRequest request, Claim.Acquired acquired) {
		boolean fingerprint = request.fingerprint() != null;
		return update(
				CLAIMED + "#fence = :fence, #attempt = :attempt, #next = :next, #createdAt = :now"
						+ (fingerprint ? ", #fingerprint = :fingerprint" : ""),
				ABSENT, request.key(),
				claimed(request).put(":fence", acquired.fence())
					.put(":attempt", acquired.attempt())
					.put(":next", acquired.attempt() + 1));
	}

	private Values claimed(ClaimRequest request) {
		Instant now = now();
		return owned(request).beat(request.lease(), now)
			.put(":scope", request.key().scope())
			.put(":key", request.key().value())
			.put(":now", now.toEpochMilli())
			.put(":expires", now.plus(request.retention()).toEpochMilli())
			.put(":ttl", timeToLive(now, request))
			.put(":fingerprint", request.fingerprint());
	}

	// DynamoDB compares it with its own clock, and must not delete a live claim.
	private long timeToLive(Instant now, ClaimRequest request) {
		Duration longer = (request.lease().compareTo(request.retention()) > 0) ? request.lease() : request.retention();
		return now.plus(longer).plus(this.maxClockSkew).getEpochSecond() + 1;
	}

	UpdateItemRequest settle(Ending ending) {
		ClaimRequest claim = ending.claim();
		if (ending instanceof Ending.Completed completed) {
			return complete(claim, completed.result());
		}
		return (ending instanceof Ending.Failed failed) ? fail(claim, failed.failure()) : release(claim);
	}

	private UpdateItemRequest complete(ClaimRequest claim, byte @Nullable [] result) {
		return update(
				"SET #state = :c, #completedAt = :now, #next = :one, "
						+ ((claim.version() != null) ? "#decided = :version, " : "")
						+ ((result != null) ? "#result = :result, " + ENDED : ENDED + ", #result"),
				OWNED, claim.key(),
				owned(claim).put(":c", RecordItem.COMPLETED)
					.put(":now", now().toEpochMilli())
					.put(":one", 1)
					.put(":version", claim.version())
					.put(":result", result));
	}

	private UpdateItemRequest fail(ClaimRequest claim, Failure failure) {
		String message = (failure.message() != null) ? "#message = :message, " : "";
		return update("SET #state = :f, #failure = :failure, " + message + ENDED, OWNED, claim.key(),
				owned(claim).put(":f", RecordItem.FAILED)
					.put(":failure", failure.type())
					.put(":message", failure.message()));
	}

	private UpdateItemRequest release(ClaimRequest claim) {
		return update("SET #state = :f, #next = #attempt, #attempt = #attempt - :one, " + ENDED, OWNED, claim.key(),
				owned(claim).put(":f", RecordItem.FAILED).put(":one", 1));
	}

	UpdateItemRequest renew(ClaimRequest claim) {
		Instant now = now();
		return update("SET #beat = :beat, #lease = :lease, #claimedUntil = :until, #ttl = :ttl", OWNED, claim.key(),
				owned(claim).beat(claim.lease(), now).put(":ttl", timeToLive(now, claim)));
	}

	// No owner has the new token.
	UpdateItemRequest free(IdempotencyKey key, boolean force, @Nullable Observation expired) {
		Values values = new Values().put(":token", "-");
		return update("SET #state = :f, #token = :token, " + ENDED, notAlive(values, force, expired), key, values);
	}

	DeleteItemRequest delete(IdempotencyKey key, boolean force, @Nullable Observation expired) {
		Values values = new Values();
		String condition = force ? "attribute_exists(#id)"
				: "#state = :c OR " + notAlive(values.put(":c", RecordItem.COMPLETED), false, expired);
		return DeleteItemRequest.builder()
			.tableName(this.table)
			.key(RecordItem.key(key))
			.conditionExpression(condition)
			.expressionAttributeNames(names(condition))
			.expressionAttributeValues(force ? null : values.map)
			.returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)
			.build();
	}

	private static String notAlive(Values values, boolean force, @Nullable Observation expired) {
		values.put(":f", RecordItem.FAILED);
		if (force) {
			values.put(":p", RecordItem.IN_PROGRESS);
			return "(#state = :f OR #state = :p)";
		}
		values.observed(expired);
		return (expired != null) ? "(#state = :f OR " + OBSERVED + ")" : "#state = :f";
	}

	private static Values owned(ClaimRequest claim) {
		return new Values().put(":token", claim.token()).put(":p", RecordItem.IN_PROGRESS);
	}

	private UpdateItemRequest update(String update, String condition, IdempotencyKey key, Values values) {
		return UpdateItemRequest.builder()
			.tableName(this.table)
			.key(RecordItem.key(key))
			.updateExpression(update)
			.conditionExpression(condition)
			.expressionAttributeNames(names(update + " " + condition))
			.expressionAttributeValues(values.map)
			.returnValues(ReturnValue.ALL_NEW)
			.returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)
			.build();
	}

	/**
	 * The values of an expression by their placeholders, which begin with a colon.
	 */
	private static final class Values {

		private final Map<String, AttributeValue> map = new HashMap<>();

		// A number, bytes or a text. DynamoDB refuses values that no expression uses.
		Values put(String name, @Nullable Object value) {
			if (value != null) {
				this.map.put(name,
						(value instanceof Number) ? AttributeValue.fromN(value.toString())
								: (value instanceof byte[] bytes) ? AttributeValue.fromB(SdkBytes.fromByteArray(bytes))
										: AttributeValue.fromS(value.toString()));
			}
			return this;
		}

		// A random number and not a counter, which would start anew after an eviction:
		// an observer would take the restored claim for the earlier one.
		Values beat(Duration lease, Instant now) {
			return put(":beat", ThreadLocalRandom.current().nextLong()).put(":lease", lease.toMillis())
				.put(":until", now.plus(lease).toEpochMilli());
		}

		Values observed(@Nullable Observation expired) {
			return (expired != null) ? put(":p", RecordItem.IN_PROGRESS).put(":observed", expired.token())
				.put(":observedBeat", expired.beat()) : this;
		}

	}

}
