package dev.idempotency.dynamodb;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

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
import dev.idempotency.store.Failure;

/**
 * The conditional updates of the store. Each changes one item. A condition that fails
 * returns the item, so that no further request is needed to learn the reason.
 * <p>
 * The SDK repeats a request whose answer is missing. No update counts twice then, because
 * its condition fails once it has been applied, except for a renewal, which counts
 * nothing.
 */
final class RecordUpdates {

	private static final String CLAIMED = "#state = :p, #token = :token, #beat = :beat, #lease = :lease, "
			+ "#claimedUntil = :until, #scope = :scope, #key = :key, #expiresAt = :expires, #ttl = :ttl, "
			+ "#retainedUntil = :ttl, ";

	// The result stays until the next completion: that of the version that completed last
	// may be asked for while a higher one is in progress.
	private static final String OUTCOME = "#completedAt, #failure, #message";

	// The attempt of the next claim is stored, because an update cannot distinguish a
	// failed record from one whose retention has ended.
	private static final String CLAIM = "SET " + CLAIMED
			+ "#fence = if_not_exists(#fence, :zero) + :one, #attempt = if_not_exists(#next, :one), "
			+ "#next = if_not_exists(#next, :one) + :one, #createdAt = if_not_exists(#createdAt, :now)";

	private static final String FREE = "attribute_not_exists(#id) OR #state = :f OR (#state = :c AND #expiresAt <= :free)";

	private static final String OBSERVED = "(#state = :p AND #token = :observed AND #beat = :observedBeat)";

	private static final String HIGHER = "(attribute_not_exists(#decided) OR #decided < :version)";

	private static final Expression[] CLAIMS = { claim(false, false, false), claim(false, false, true),
			claim(false, true, false), claim(false, true, true), claim(true, false, false), claim(true, false, true),
			claim(true, true, false), claim(true, true, true) };

	private static final Expression[] RESTORES = { restore(false), restore(true) };

	private static final String OWNED = "#token = :token AND #state = :p";

	// In place of the longer time that a renewal may have set.
	private static final String RETAINED = "#ttl = #retainedUntil";

	private static final Expression[] COMPLETIONS = { complete(false, false), complete(false, true),
			complete(true, false), complete(true, true) };

	private static final Expression FAIL = Expression
		.of("SET #state = :f, #failure = :failure, " + RETAINED + " REMOVE #claimedUntil", OWNED);

	private static final Expression FAIL_WITH_MESSAGE = Expression
		.of("SET #state = :f, #failure = :failure, #message = :message, " + RETAINED + " REMOVE #claimedUntil", OWNED);

	private static final Expression RELEASE = Expression.of(
			"SET #state = :f, #next = #attempt, " + "#attempt = #attempt - :one, " + RETAINED + " REMOVE #claimedUntil",
			OWNED);

	private static final Expression RENEW = Expression
		.of("SET #beat = :beat, #lease = :lease, #claimedUntil = :until, #ttl = :ttl", OWNED);

	// No owner has the new token.
	private static final String FREED = "SET #state = :f, #token = :token, " + RETAINED + " REMOVE #claimedUntil";

	private static final String NOT_ALIVE = "(#state = :f OR " + OBSERVED + ")";

	private final String table;

	private final InstantSource clock;

	private final Duration maxClockSkew;

	RecordUpdates(String table, InstantSource clock, Duration maxClockSkew) {
		this.table = table;
		this.clock = clock;
		this.maxClockSkew = maxClockSkew;
	}

	private static Expression claim(boolean version, boolean fingerprint, boolean observed) {
		String free = observed ? FREE + " OR " + OBSERVED : FREE;
		return Expression.of(
				CLAIM + (fingerprint ? ", #fingerprint = :fingerprint REMOVE " : " REMOVE #fingerprint, ") + OUTCOME,
				version ? freeForVersion(observed) : free);
	}

	private static String freeForVersion(boolean observed) {
		return "attribute_not_exists(#id) OR (#state = :c AND #expiresAt <= :free) OR (" + HIGHER
				+ " AND (#state = :f OR #state = :c" + (observed ? " OR " + OBSERVED : "") + "))";
	}

	private static Expression complete(boolean version, boolean result) {
		return Expression.of("SET #state = :c, #completedAt = :now, #next = :one, "
				+ (version ? "#decided = :version, " : "") + (result ? "#result = :result, " : "") + RETAINED
				+ " REMOVE #claimedUntil" + (result ? "" : ", #result"), OWNED);
	}

	private static Expression restore(boolean fingerprint) {
		return Expression.of("SET " + CLAIMED + "#fence = :fence, #attempt = :attempt, #next = :next, "
				+ "#createdAt = :now" + (fingerprint ? ", #fingerprint = :fingerprint" : ""),
				"attribute_not_exists(#id)");
	}

	private static int index(boolean... bits) {
		int index = 0;
		for (boolean bit : bits) {
			index = 2 * index + (bit ? 1 : 0);
		}
		return index;
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
		Values values = claimed(request);
		values.put(":f", RecordItem.FAILED)
			.put(":c", RecordItem.COMPLETED)
			.put(":zero", 0)
			.put(":one", 1)
			.put(":free", endOfRetention());
		if (expired != null) {
			values.observed(expired);
		}
		Long version = request.version();
		if (version != null) {
			values.put(":version", version);
		}
		return update(CLAIMS[index(version != null, request.fingerprint() != null, expired != null)], request.key(),
				values);
	}

	UpdateItemRequest restore(ClaimRequest request, Claim.Acquired acquired) {
		Values values = claimed(request).put(":fence", acquired.fence())
			.put(":attempt", acquired.attempt())
			.put(":next", acquired.attempt() + 1);
		return update(RESTORES[index(request.fingerprint() != null)], request.key(), values);
	}

	private Values claimed(ClaimRequest request) {
		Instant now = now();
		Instant expires = now.plus(request.retention());
		Values values = owned(request).beat(request.lease(), now)
			.put(":scope", request.key().scope())
			.put(":key", request.key().value())
			.put(":now", now.toEpochMilli())
			.put(":expires", expires.toEpochMilli())
			.put(":ttl", timeToLive(now, request));
		byte[] fingerprint = request.fingerprint();
		return (fingerprint != null) ? values.put(":fingerprint", fingerprint) : values;
	}

	// DynamoDB compares it with its own clock, and must not delete a live claim.
	private long timeToLive(Instant now, ClaimRequest request) {
		Duration longer = (request.lease().compareTo(request.retention()) > 0) ? request.lease() : request.retention();
		return now.plus(longer).plus(this.maxClockSkew).getEpochSecond() + 1;
	}

	UpdateItemRequest complete(ClaimRequest claim, byte @Nullable [] result) {
		Values values = owned(claim).put(":c", RecordItem.COMPLETED).put(":now", now().toEpochMilli()).put(":one", 1);
		Long version = claim.version();
		if (version != null) {
			values.put(":version", version);
		}
		if (result != null) {
			values.put(":result", result);
		}
		return update(COMPLETIONS[index(version != null, result != null)], claim.key(), values);
	}

	UpdateItemRequest fail(ClaimRequest claim, Failure failure) {
		Values values = owned(claim).put(":f", RecordItem.FAILED).put(":failure", failure.type());
		String message = failure.message();
		return (message != null) ? update(FAIL_WITH_MESSAGE, claim.key(), values.put(":message", message))
				: update(FAIL, claim.key(), values);
	}

	UpdateItemRequest release(ClaimRequest claim) {
		return update(RELEASE, claim.key(), owned(claim).put(":f", RecordItem.FAILED).put(":one", 1));
	}

	UpdateItemRequest renew(ClaimRequest claim) {
		Instant now = now();
		return update(RENEW, claim.key(), owned(claim).beat(claim.lease(), now).put(":ttl", timeToLive(now, claim)));
	}

	UpdateItemRequest free(IdempotencyKey key, boolean force, @Nullable Observation expired) {
		Values values = new Values().put(":f", RecordItem.FAILED).put(":token", "-");
		String condition = "#state = :f";
		if (force) {
			values.put(":p", RecordItem.IN_PROGRESS);
			condition = "(#state = :f OR #state = :p)";
		}
		else if (expired != null) {
			values.put(":p", RecordItem.IN_PROGRESS).observed(expired);
			condition = NOT_ALIVE;
		}
		return update(Expression.of(FREED, condition), key, values);
	}

	DeleteItemRequest delete(IdempotencyKey key, boolean force, @Nullable Observation expired) {
		Values values = new Values();
		String condition = "attribute_exists(#id)";
		if (!force) {
			values.put(":f", RecordItem.FAILED).put(":c", RecordItem.COMPLETED);
			condition = "(#state = :f OR #state = :c)";
			if (expired != null) {
				values.put(":p", RecordItem.IN_PROGRESS).observed(expired);
				condition = "(#state = :c OR " + NOT_ALIVE + ")";
			}
		}
		DeleteItemRequest.Builder request = DeleteItemRequest.builder()
			.tableName(this.table)
			.key(RecordItem.key(key))
			.conditionExpression(condition)
			.expressionAttributeNames(Expression.names(condition))
			.returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD);
		if (!values.map.isEmpty()) {
			request.expressionAttributeValues(values.map);
		}
		return request.build();
	}

	private static Values owned(ClaimRequest claim) {
		return new Values().put(":token", claim.token().toString()).put(":p", RecordItem.IN_PROGRESS);
	}

	private UpdateItemRequest update(Expression expression, IdempotencyKey key, Values values) {
		return UpdateItemRequest.builder()
			.tableName(this.table)
			.key(RecordItem.key(key))
			.updateExpression(expression.update())
			.conditionExpression(expression.condition())
			.expressionAttributeNames(expression.names())
			.expressionAttributeValues(values.map)
			.returnValues(ReturnValue.ALL_NEW)
			.returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)
			.build();
	}

	private static final class Values {

		private final Map<String, AttributeValue> map = new HashMap<>();

		Values put(String name, String value) {
			this.map.put(name, AttributeValue.fromS(value));
			return this;
		}

		Values put(String name, long value) {
			this.map.put(name, AttributeValue.fromN(Long.toString(value)));
			return this;
		}

		Values put(String name, byte[] value) {
			this.map.put(name, AttributeValue.fromB(SdkBytes.fromByteArray(value)));
			return this;
		}

		// A random number and not a counter, which would start anew after an eviction:
		// an observer would take the restored claim for the earlier one.
		Values beat(Duration lease, Instant now) {
			return put(":beat", ThreadLocalRandom.current().nextLong()).put(":lease", lease.toMillis())
				.put(":until", now.plus(lease).toEpochMilli());
		}

		Values observed(Observation observation) {
			this.map.put(":observedBeat", AttributeValue.fromN(observation.beat()));
			return put(":observed", observation.token());
		}

	}

}
