package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.store.Claim;

/**
 * The claims of the items of a batch, the decisions about them, and their results. The
 * first item with a key represents its copies.
 *
 * @param <T> the type of the result of an item
 */
final class BatchPlan<T> {

	private final List<PlannedItem> items = new ArrayList<>();

	private final ResultCodec<T> codec;

	private final List<@Nullable IdempotentResult<T>> results;

	private int end;

	private int failedAt = -1;

	private @Nullable Throwable failure;

	BatchPlan(List<BatchItem> items, ResultCodec<T> codec) {
		this.codec = codec;
		this.results = new ArrayList<>(Collections.nCopies(items.size(), null));
		this.end = items.size();
		Map<IdempotencyKey, PlannedItem> originals = new HashMap<>();
		for (BatchItem item : items) {
			IdempotentOperation operation = item.operation();
			PlannedItem original = (operation != null) ? originals.get(operation.key()) : null;
			PlannedItem planned = new PlannedItem(this.items.size(), item, original);
			if (operation != null && original == null) {
				originals.put(operation.key(), planned);
			}
			this.items.add(planned);
		}
	}

	List<PlannedItem> items() {
		return this.items;
	}

	PlannedItem item(int index) {
		return this.items.get(index);
	}

	private List<Integer> indexes(Predicate<PlannedItem> condition) {
		return this.items.stream().filter(condition).map(PlannedItem::index).toList();
	}

	/**
	 * Return the items whose keys are still to be claimed.
	 * @return their indexes, one for each key
	 */
	List<Integer> unanswered() {
		return indexes(PlannedItem::isUnanswered);
	}

	/**
	 * Block each item that is not answered.
	 * @param reason the reason
	 */
	void blockRest(OperationBlockedException reason) {
		unclaim();
		this.items.stream().filter(PlannedItem::isUnanswered).forEach((item) -> item.setClaimFailure(reason));
		decide();
		if (this.items.stream().noneMatch(PlannedItem::isBlocked)) {
			// None of them has a key, but they need a transaction.
			due().forEach((index) -> item(index).block(reason));
		}
	}

	/**
	 * Whether an earlier item of the same lane is held elsewhere, so that the item need
	 * not be claimed.
	 * @param index the index of the item
	 * @return whether it is behind such an item
	 */
	boolean isBehindHeldItem(int index) {
		return this.items.subList(0, index)
			.stream()
			.anyMatch((earlier) -> earlier.isHeldElsewhere() && earlier.lane().equals(item(index).lane()));
	}

	/**
	 * Leave out an item and all items after it.
	 * @param index the index of the item that failed, -1 if it is unknown
	 * @param error the reason
	 */
	void fail(int index, Throwable error) {
		this.failedAt = index;
		this.failure = error;
		this.end = Math.max(0, index);
	}

	/**
	 * Decide about each item, when all keys have been answered. A further decision, with
	 * more answers, never lets an item run that was not to run.
	 */
	void decide() {
		Map<Object, OperationBlockedException> blockedLanes = new HashMap<>();
		for (PlannedItem item : this.items) {
			OperationBlockedException before = blockedLanes.get(item.lane());
			if (item.index() >= this.end) {
				item.leaveOut(null);
			}
			else if (before != null) {
				item.leaveOut(before);
			}
			else {
				decide(item);
				if (item.isBlocked()) {
					blockedLanes.put(item.lane(), item.reason());
				}
			}
		}
	}

	private void decide(PlannedItem item) {
		try {
			Claim known = item.decide();
			if (known != null) {
				this.results.set(item.index(), StoredResults.replay(item.operation(), known, this.codec));
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

	/**
	 * Return the items that the handler processes.
	 * @return their indexes
	 */
	List<Integer> due() {
		return indexes(PlannedItem::isDue);
	}

	boolean isFailed() {
		return this.failure != null;
	}

	// An item is blocked, or can never be handled.
	boolean isIncomplete() {
		return isFailed() || this.items.stream().anyMatch(PlannedItem::isBlocked);
	}

	/**
	 * Return the items that are claimed but do not run.
	 * @return their indexes
	 */
	List<Integer> surplus() {
		return indexes((item) -> item.isClaimed() && !item.isDue());
	}

	void done(int index, @Nullable T result) {
		this.results.set(index, new IdempotentResult<>(result, false));
	}

	/**
	 * Block an item whose execution is not recorded.
	 * @param index the index of the item
	 * @param reason the reason
	 */
	void undone(int index, OperationBlockedException reason) {
		this.results.set(index, null);
		item(index).block(reason);
	}

	/**
	 * Remove the claims of a transaction that was rolled back.
	 */
	void unclaim() {
		this.items.forEach(PlannedItem::unclaim);
	}

	BatchResult<T> result() {
		SortedMap<Integer, OperationBlockedException> blocked = new TreeMap<>();
		for (PlannedItem item : this.items) {
			PlannedItem source = item;
			if (item.original() != null && item.isCopy()) {
				source = item.original();
				IdempotentResult<T> result = this.results.get(source.index());
				this.results.set(item.index(), (result != null) ? new IdempotentResult<>(result.result(), true) : null);
			}
			if (source.isBlocked()) {
				blocked.put(item.index(), source.reason());
			}
		}
		return new BatchResult<>(Collections.unmodifiableList(this.results), blocked, this.failedAt, this.failure);
	}

}
