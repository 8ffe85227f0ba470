package dev.idempotency.dynamodb;

import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;
import org.springframework.util.unit.DataSize;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.DynamoDbCalls.Deadline;
import dev.idempotency.dynamodb.DynamoDbCalls.Update;
import dev.idempotency.dynamodb.Observations.Observation;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Completion;
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
	 * The default limit for the difference between the clocks of two clients.
	 */
	public static final Duration DEFAULT_MAX_CLOCK_SKEW = Duration.ofMinutes(5);

	/**
	 * The largest result that fits into an item with the longest key. An item holds 400
	 * KB.
	 */
	public static final DataSize MAX_RESULT_SIZE = DataSize.ofKilobytes(390);

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	private static final Duration MIN_TIMEOUT = Duration.ofMillis(100);

	// Each further try means that another owner has changed the key in between.
	private static final int TRIES = 3;

	private final Observations observations = new Observations();

	private final DynamoDbClient client;

	private final DynamoDbCalls calls;

	private final RecordUpdates updates;

	private final DynamoDbRecords records;

	private volatile @Nullable String warning;

	/**
	 * Create a store with the {@linkplain #DEFAULT_MAX_CLOCK_SKEW default limit} for the
	 * difference between clocks.
	 * @param client the client, which the application closes
	 * @param table the name of the table
	 * @param timeout timeout of a call, 100 ms or more
	 * @throws IdempotencyConfigurationException if the timeout is too short
	 */
	public DynamoDbIdempotencyStore(DynamoDbClient client, String table, Duration timeout) {
		this(client, table, timeout, DEFAULT_MAX_CLOCK_SKEW);
	}

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
		if (timeout.compareTo(MIN_TIMEOUT) < 0) {
			throw new IdempotencyConfigurationException("'idempotency.store.timeout' is " + timeout + ".",
					"Set 'idempotency.store.timeout' to " + MIN_TIMEOUT + " or more.");
		}
		if (maxClockSkew.isNegative()) {
			throw new IdempotencyConfigurationException(
					"'idempotency.dynamodb.max-clock-skew' is " + maxClockSkew + ".",
					"Set 'idempotency.dynamodb.max-clock-skew' to the largest difference between the clocks of two "
							+ "instances.");
		}
		this.client = client;
		this.calls = new DynamoDbCalls(client, table, timeout);
		this.updates = new RecordUpdates(table, clock, maxClockSkew);
		this.records = new DynamoDbRecords(this.calls, this.updates, this.observations);
	}

	@Override
	public String name() {
		return "dynamodb";
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return claim(request, this.calls.deadline());
	}

	private Claim claim(ClaimRequest request, Deadline deadline) {
		IdempotencyKey key = request.key();
		Observation expired = this.observations.findExpired(key.id(), System.nanoTime());
		Duration remaining = Duration.ZERO;
		for (int tries = 0; tries < TRIES; tries++) {
			Update update = this.calls.update(this.updates.claim(request, expired), deadline);
			RecordItem item = update.item();
			if (item == null) {
				continue;
			}
			if (update.applied()) {
				this.observations.end(key.id());
				return new Claim.Acquired(item.fence(), item.attempt());
			}
			Claim decided = decided(request, item);
			if (decided != null) {
				return decided;
			}
			if (item.isCompleted()) {
				this.observations.end(key.id());
				return completed(request, item);
			}
			if (item.isInProgress() && item.isOwnedBy(request)) {
				// The SDK has repeated the request, or the caller repeats its claim.
				if (this.calls.update(this.updates.renew(request), deadline).applied()) {
					return new Claim.Acquired(item.fence(), item.attempt());
				}
			}
			else if (item.isInProgress()) {
				long now = System.nanoTime();
				Observation observed = this.observations.observe(key.id(), item, now);
				if (!observed.isExpired(now)) {
					return inProgress(request, item, observed.remaining(now));
				}
				expired = observed;
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
		Claim decided = (!item.isCompleted() || this.updates.isRetained(item)) ? decided(request, item) : null;
		if (decided != null) {
			return decided;
		}
		if (item.isCompleted() && this.updates.isRetained(item) && request.version() == null) {
			return completed(request, item);
		}
		if (item.isInProgress() && item.isOwnedBy(request)) {
			return new Claim.Acquired(item.fence(), item.attempt());
		}
		if (item.isInProgress()) {
			long now = System.nanoTime();
			Observation observed = this.observations.observe(request.key().id(), item, now);
			if (!observed.isExpired(now)) {
				return inProgress(request, item, observed.remaining(now));
			}
		}
		return new Claim.Acquired(item.fence() + 1, item.next());
	}

	// The fingerprint of a later claim is not that of the version that has completed.
	private static @Nullable Claim decided(ClaimRequest request, RecordItem item) {
		Long version = request.version();
		Long completed = item.version();
		if (version == null || completed == null || completed < version
				|| (item.isInProgress() && item.isOwnedBy(request))) {
			return null;
		}
		if (completed > version) {
			return new Claim.Stale(completed);
		}
		return item.isCompleted() ? completed(request, item) : new Claim.Completed(item.result());
	}

	private static Claim completed(ClaimRequest request, RecordItem item) {
		return differs(request, item) ? new Claim.Mismatch() : new Claim.Completed(item.result());
	}

	private static Claim inProgress(ClaimRequest request, RecordItem item, Duration remaining) {
		return (request.version() == null && differs(request, item)) ? new Claim.Mismatch()
				: new Claim.InProgress(remaining);
	}

	private static boolean differs(ClaimRequest request, RecordItem item) {
		return Fingerprint.differs(request.key(), item.fingerprint(), request.fingerprint());
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return complete(new Completion(claim, result), this.calls.deadline());
	}

	private Settlement complete(Completion completion, Deadline deadline) {
		ClaimRequest claim = completion.claim();
		return settle(claim, this.updates.complete(claim, completion.result()), deadline, RecordItem::isCompleted);
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return fail(claim, failure, this.calls.deadline());
	}

	private Settlement fail(ClaimRequest claim, Failure failure, Deadline deadline) {
		return settle(claim, this.updates.fail(claim, failure), deadline,
				(item) -> item.isFailed() && item.failure() != null);
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return release(claim, this.calls.deadline());
	}

	private Settlement release(ClaimRequest claim, Deadline deadline) {
		return settle(claim, this.updates.release(claim), deadline,
				(item) -> item.isFailed() && item.failure() == null);
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return renew(claim, this.calls.deadline());
	}

	private Settlement renew(ClaimRequest claim, Deadline deadline) {
		return settle(claim, this.updates.renew(claim), deadline, (item) -> false);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		Deadline deadline = this.calls.deadline();
		Update update = this.calls.update(this.updates.restore(claim, acquired), deadline);
		if (update.applied()) {
			return Settlement.SETTLED;
		}
		return (renew(claim, deadline) == Settlement.SETTLED) ? Settlement.SETTLED : Settlement.LOST;
	}

	// The parameter 'repeated' returns whether the item shows
	// that its owner has settled it in the same way before.
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
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		return this.calls.all(requests, this::claim);
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		return this.calls.all(completions, this::complete);
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return this.calls.all(claims, (claim, deadline) -> fail(claim, failure, deadline));
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return this.calls.all(claims, this::release);
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return this.calls.all(claims, this::renew);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.ofNullable(this.calls.get(key, this.calls.deadline())).map((item) -> item.toRecord(key));
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
		return new DynamoDbTableCheck(this, this.client, this.calls.table(), create);
	}

	/**
	 * Stop the threads of the store. The client stays open.
	 */
	@Override
	public void close() {
		this.calls.close();
	}

}
