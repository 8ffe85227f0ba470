package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.Declined.OutcomeCodec;

/**
 * The claims of the items of a batch, the decisions about them, and their results. The
 * first item with a key represents its copies. For a key with versions, the first item
 * with the highest version represents the others, which are stale when it is done. If it
 * fails or is not run, the highest version before it does.
 */
final class BatchPlan {

	// A single item is decided without copying.
	private static final List<Integer> FIRST = List.of(0);

	private final List<Item> items;

	private final OutcomeCodec<?> codec;

	private final StoredResults stored;

	private int end;

	private boolean awaitsClaims;

	private int failedAt = -1;

	private @Nullable Throwable failure;

	// That of a single operation, which has no copies.
	BatchPlan(IdempotentOperation operation, ResultCodec<?> codec, StoredResults stored) {
		this.codec = new OutcomeCodec<>(codec);
		this.stored = stored;
		this.end = 1;
		this.items = List.of(new Item(0, operation, 0, null));
	}

	BatchPlan(List<BatchItem> items, ResultCodec<?> codec, StoredResults stored) {
		this.codec = new OutcomeCodec<>(codec);
		this.stored = stored;
		this.end = items.size();
		this.items = new ArrayList<>(items.size());
		Map<IdempotencyKey, Item> first = new HashMap<>();
		for (BatchItem item : items) {
			IdempotentOperation operation = item.operation();
			Item earlier = (operation != null) ? first.get(operation.key()) : null;
			Item planned = new Item(this.items.size(), operation, item.lane(),
					(earlier != null && !earlier.isVersioned()) ? earlier : null);
			// Otherwise two items would claim one key.
			Assert.isTrue(earlier == null || earlier.isVersioned() == planned.isVersioned(),
					"The operations of a key must all have a version, or none");
			if (operation != null && earlier == null) {
				first.put(operation.key(), planned);
			}
			this.items.add(planned);
		}
		representVersions();
	}

	private void representVersions() {
		if (this.items.size() == 1) {
			return;
		}
		Map<IdempotencyKey, Item> highest = new HashMap<>();
		// A version behind the end has completed if it was declined in this delivery.
		List<Item> versions = this.items.stream()
			.filter((item) -> item.isVersioned()
					&& (item.index() < this.end || item.claim() instanceof Claim.Completed))
			.toList();
		versions.forEach((item) -> highest.merge(item.operation().key(), item,
				(known, other) -> (other.version() > known.version()) ? other : known));
		versions.forEach((item) -> item.representedBy(Objects.requireNonNull(highest.get(item.operation().key()))));
	}

	OutcomeCodec<?> codec() {
		return this.codec;
	}

	List<Item> items() {
		return this.items;
	}

	Item item(int index) {
		return this.items.get(index);
	}

	private List<Integer> indexes(Predicate<Item> condition) {
		if (this.items.size() == 1) {
			return condition.test(this.items.get(0)) ? FIRST : List.of();
		}
		List<Integer> indexes = new ArrayList<>(this.items.size());
		for (Item item : this.items) {
			if (condition.test(item)) {
				indexes.add(item.index());
			}
		}
		// A handler gets these lists.
		return Collections.unmodifiableList(indexes);
	}

	// Return the items whose leases are kept.
	List<Integer> owned() {
		return indexes((item) -> item.owned() != null);
	}

	void setClaims(List<Integer> items, List<Claim> claims) {
		for (int i = 0; i < items.size(); i++) {
			item(items.get(i)).setClaim(claims.get(i));
		}
	}

	List<Integer> unanswered() {
		return indexes(Item::isUnanswered);
	}

	void blockRest(OperationBlockedException reason) {
		this.items.stream().filter(Item::isUnanswered).forEach((item) -> item.setClaimFailure(reason));
		decide();
		if (this.items.stream().noneMatch(Item::isBlocked)) {
			// None of them has a key, but they need a transaction.
			due().forEach((index) -> item(index).block(reason));
		}
	}

	// Return whether an earlier item of the same lane has no claim, because
	// another owner has its key or its claim failed. The later item need not be
	// claimed then.
	boolean isLaneBlocked(int index) {
		return this.items.subList(0, index)
			.stream()
			.anyMatch((earlier) -> (earlier.claimFailure != null || earlier.claim instanceof Claim.InProgress)
					&& earlier.lane().equals(item(index).lane()));
	}

	// Claim an item alone, or block it. Returns whether no earlier item of its lane is
	// blocked; otherwise the item is not claimed.
	boolean claimOne(int index, Supplier<Claim> claim) {
		if (isLaneBlocked(index)) {
			return false;
		}
		try {
			item(index).setClaim(claim.get());
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			item(index).setClaimFailure(ex);
		}
		return true;
	}

	void fail(int index, Throwable error) {
		this.failedAt = index;
		this.failure = error;
		this.end = Math.max(0, index);
		representVersions();
	}

	// Compare a copy with the first item of its key only when that has its claim.
	void awaitClaims(boolean await) {
		this.awaitsClaims = await;
	}

	// Decide about each item when the claims of all keys have an outcome. A repeated
	// decision never runs an item that an earlier decision has excluded.
	void decide() {
		int before;
		do {
			before = this.end;
			decideOnce();
		}
		while (this.end < before || blockSuperseded());
	}

	// A lower version must not be acknowledged while the higher one is not done. Returns
	// whether an item is blocked that was not.
	private boolean blockSuperseded() {
		boolean changed = false;
		for (Item item : this.items) {
			Item highest = item.original;
			if (item.decision == Item.Decision.SUPERSEDED && highest != null && highest.index() > item.index()
					&& highest.reason != null) {
				item.setClaimFailure(highest.reason);
				changed = true;
			}
		}
		return changed;
	}

	private void decideOnce() {
		Map<Object, OperationBlockedException> blockedLanes = (this.items.size() > 1) ? new HashMap<>() : Map.of();
		for (Item item : this.items) {
			OperationBlockedException before = blockedLanes.get(item.lane());
			if (item.index() >= this.end) {
				item.leaveOut(null);
			}
			else if (before != null) {
				item.leaveOut(before);
			}
			else {
				decide(item);
				if (item.isBlocked() && this.items.size() > 1) {
					blockedLanes.put(item.lane(), item.reason());
				}
			}
		}
	}

	private void decide(Item item) {
		try {
			Claim known = item.decide(this.awaitsClaims);
			if (known != null && item.result == null) {
				item.result = this.stored.replay(item.operation(), known, this.codec);
			}
		}
		catch (OperationBlockedException ex) {
			item.block(ex);
		}
		catch (OperationRejectedException ex) {
			item.leaveOut(null);
			fail(item.index(), ex);
		}
	}

	// Return the items that the handler processes.
	List<Integer> due() {
		return indexes(Item::isDue);
	}

	List<Integer> stillDue() {
		return indexes((item) -> item.isDue() && item.result == null);
	}

	@Nullable IdempotentResult<Object> resultOf(int index) {
		return item(index).result;
	}

	@Nullable Throwable failure() {
		return this.failure;
	}

	int failedAt() {
		return this.failedAt;
	}

	// An item is blocked, or can never be handled.
	boolean isIncomplete() {
		return this.failure != null || this.items.stream().anyMatch(Item::isBlocked);
	}

	// Return the items that are claimed but do not run.
	List<Integer> surplus() {
		return indexes((item) -> item.isClaimed() && !item.isDue());
	}

	boolean isDoneInLane(int index) {
		Object lane = item(index).lane();
		return this.items.subList(0, index + 1)
			.stream()
			.filter((earlier) -> earlier.lane().equals(lane))
			.allMatch((earlier) -> earlier.isRepresented() || earlier.result != null);
	}

	void done(int index, @Nullable Object result) {
		item(index).result = new IdempotentResult<>(result, false);
	}

	void done(List<Integer> items, List<@Nullable Object> values) {
		for (int i = 0; i < items.size(); i++) {
			done(items.get(i), values.get(i));
		}
	}

	// Block an item whose execution is not recorded.
	void undone(int index, OperationBlockedException reason) {
		item(index).result = null;
		item(index).setClaimFailure(reason);
		item(index).block(reason);
	}

	void undone(List<Integer> items, OperationBlockedException why) {
		items.forEach((index) -> undone(index, why));
	}

	// Remove the claims of a transaction that was rolled back.
	void unclaim() {
		this.items.stream().filter(Item::isClaimed).forEach((item) -> item.claim = null);
	}

	// Give the items that others represent their results.
	void end() {
		for (Item item : this.items) {
			Item original = item.original;
			if (item.index() == this.failedAt && item.isVersioned() && original != null && original.isBlocked()) {
				// It was stale only if the higher version had completed.
				this.failedAt = -1;
				this.failure = null;
				item.block(original.reason());
			}
			if (original != null && item.isRepresented()) {
				IdempotentResult<Object> result = original.result;
				if (item.decision == Item.Decision.SUPERSEDED
						&& (result != null || original.claim() instanceof Claim.Completed)) {
					result = IdempotentResult.ofStale();
				}
				else if (result != null) {
					result = new IdempotentResult<>(result.result(), true);
				}
				item.result = result;
			}
		}
	}

	@SuppressWarnings("unchecked")
	<T> BatchResult<T> result() {
		List<@Nullable IdempotentResult<T>> results = new ArrayList<>(this.items.size());
		SortedMap<Integer, OperationBlockedException> blocked = new TreeMap<>();
		for (Item item : this.items) {
			IdempotentResult<Object> result = item.result;
			results.add((result != null && result.result() instanceof Declined declined)
					? new IdempotentResult<>((T) declined.body(), result.duplicate(), declined.reason())
					: (IdempotentResult<T>) result);
			OperationBlockedException reason = item.blockedBy();
			if (reason != null) {
				blocked.put(item.index(), reason);
			}
		}
		return new BatchResult<>(Collections.unmodifiableList(results), blocked, this.failedAt, this.failure);
	}

	/**
	 * An item of a {@link BatchPlan}: its claim, and the decision about it.
	 */
	static final class Item {

		private final int index;

		private final @Nullable IdempotentOperation operation;

		private final Object lane;

		// The item that represents this one, if it is another one.
		private @Nullable Item original;

		// That of the current claim, once the key is asked for.
		private @Nullable ClaimRequest request;

		private @Nullable Claim claim;

		// In leased mode, the claim while its lease is kept.
		private @Nullable OwnedClaim owned;

		// The claim was blocked, so the owner of the key is unknown.
		private @Nullable OperationBlockedException claimFailure;

		private Decision decision = Decision.DUE;

		private @Nullable OperationBlockedException reason;

		private @Nullable IdempotentResult<Object> result;

		// Its outcome is reported when its completion has ended.
		private boolean reportDeferred;

		Item(int index, @Nullable IdempotentOperation operation, Object lane, @Nullable Item original) {
			this.index = index;
			this.operation = operation;
			this.lane = lane;
			this.original = original;
		}

		int index() {
			return this.index;
		}

		Object lane() {
			return this.lane;
		}

		boolean isProtected() {
			return this.operation != null;
		}

		IdempotentOperation operation() {
			return Objects.requireNonNull(this.operation);
		}

		boolean isVersioned() {
			return this.operation != null && this.operation.version() != null;
		}

		long version() {
			return Objects.requireNonNull(operation().version()).number();
		}

		void representedBy(Item highest) {
			this.original = (highest != this) ? highest : null;
			if (this.original == null && isRepresented()) {
				this.decision = Decision.DUE;
			}
		}

		@Nullable OperationBlockedException claimFailure() {
			return this.claimFailure;
		}

		boolean isUnanswered() {
			return isProtected() && this.original == null && this.decision == Decision.DUE && this.claim == null
					&& this.claimFailure == null;
		}

		ClaimRequest request() {
			return Objects.requireNonNull(this.request);
		}

		ClaimRequest newRequest() {
			this.request = operation().newRequest();
			return this.request;
		}

		@Nullable OwnedClaim owned() {
			return this.owned;
		}

		void setOwned(@Nullable OwnedClaim claim) {
			this.owned = claim;
		}

		@Nullable Claim claim() {
			return this.claim;
		}

		void setClaim(Claim answer) {
			this.claim = answer;
		}

		boolean isReportDeferred() {
			return this.reportDeferred;
		}

		void deferReport() {
			this.reportDeferred = true;
		}

		// The first delivery answers with the decline itself, whatever is stored.
		void setDeclined(Claim.Completed stored, Object decline) {
			this.claim = stored;
			this.result = new IdempotentResult<>(decline, false);
		}

		// A decline that is not recorded, because an item before it is not done.
		void withdraw() {
			this.result = null;
			leaveOut(null);
		}

		boolean isClaimed() {
			return this.claim instanceof Claim.Acquired;
		}

		void setClaimFailure(OperationBlockedException failure) {
			this.claimFailure = failure;
		}

		@Nullable Claim decide(boolean awaitsClaims) {
			this.reason = null;
			if (this.claimFailure != null) {
				throw this.claimFailure;
			}
			if (this.original != null && isVersioned() && version() != this.original.version()) {
				decideAsSuperseded(this.original);
				return null;
			}
			if (this.original != null) {
				return decideAsCopy(this.original, awaitsClaims && this.original.isUnanswered());
			}
			this.decision = (this.claim != null && !isClaimed()) ? Decision.REPLAYED : Decision.DUE;
			return isDue() ? null : this.claim;
		}

		// Before the higher version, the sender is not to blame for it.
		private void decideAsSuperseded(Item highest) {
			if (highest.index() < index()) {
				checkRuns(highest);
				StoredResults.stale(operation(), highest.version());
			}
			this.decision = Decision.SUPERSEDED;
		}

		private void checkRuns(Item first) {
			if (first.decision == Decision.LEFT_OUT || first.decision == Decision.BLOCKED) {
				OperationBlockedException earlier = first.reason;
				throw new OperationInProgressException(
						"An earlier record of " + operation() + " in the same batch is blocked",
						(earlier != null) ? earlier.retryAfter() : Duration.ZERO,
						(earlier instanceof OperationInProgressException inProgress) ? inProgress.ended() : null);
			}
		}

		private @Nullable Claim decideAsCopy(Item first, boolean later) {
			IdempotentOperation own = operation();
			checkRuns(first);
			if (!later && Fingerprint.differs(own.key(), first.operation().fingerprint(), own.fingerprint())) {
				return new Claim.Mismatch();
			}
			this.decision = (first.decision == Decision.REPLAYED) ? Decision.REPLAYED : Decision.COPY;
			return (this.decision == Decision.COPY) ? null : first.claim;
		}

		boolean isDue() {
			return this.decision == Decision.DUE;
		}

		// Another item represents this one.
		boolean isRepresented() {
			return this.decision == Decision.COPY || this.decision == Decision.SUPERSEDED;
		}

		void leaveOut(@Nullable OperationBlockedException before) {
			this.decision = Decision.LEFT_OUT;
			this.reason = before;
		}

		void block(OperationBlockedException why) {
			this.decision = Decision.BLOCKED;
			this.reason = why;
		}

		boolean isBlocked() {
			return this.decision == Decision.BLOCKED;
		}

		// The reason why this item, or the one that represents it, is blocked.
		@Nullable OperationBlockedException blockedBy() {
			Item source = (this.original != null && isRepresented()) ? this.original : this;
			return source.isBlocked() ? source.reason : null;
		}

		OperationBlockedException reason() {
			return Objects.requireNonNull(this.reason);
		}

		private enum Decision {

			DUE,

			// An earlier item with the same key is due.
			COPY,

			// Another item has a higher version of the key.
			SUPERSEDED,

			REPLAYED,

			BLOCKED,

			// An earlier item is blocked, has failed or can never be handled.
			LEFT_OUT

		}

	}

}
