package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The claims of operations in {@link Mode#TRANSACTIONAL} that are recognized by their
 * offsets:
 * <ol>
 * <li>the transaction raises the mark of the partition with its first statement. The row
 * lock makes a consumer wait that has lost the partition;</li>
 * <li>if the mark was not lower than the offset, the transaction is rolled back, and the
 * record is skipped;</li>
 * <li>the mark and the handler's writes are stored together or not at all;</li>
 * <li>if the handler or the commit failed, the mark is read after the rollback. If it
 * cannot be read, the database is down, and the record is redelivered. If it is raised,
 * the commit had succeeded, or the handler has committed the transaction itself: then the
 * mark is lowered again.</li>
 * </ol>
 * In a batch, one statement raises the mark of each partition to the highest offset of
 * the items that may run. The items of a partition that run are always its first ones,
 * because the later ones are left out behind a blocked or a failed item, so that no mark
 * passes an item that has not run.
 *
 * @param marks the marks of the store, {@code null} if it has none
 * @param calls calls the store
 * @param skipped reports skipped records
 */
record OffsetClaims(@Nullable OffsetMarks marks, StoreCalls calls, SkippedOffsets skipped) {

	// The claim of each handler: marks do not count attempts.
	static final Claim.Acquired ACQUIRED = new Claim.Acquired(1, 1);

	private static final Claim COMPLETED = new Claim.Completed(null);

	OffsetMarks requireSupported() {
		Assert.state(this.marks != null, "The store has no marks of offsets. Identify each operation by a key");
		return this.marks;
	}

	// Raise the marks in the current transaction, and set the claims of the items.
	void claim(BatchRun run, List<Item> items, UUID token, boolean joined) {
		Collection<Partition> partitions = partitions(items, token);
		List<Long> previous = raiseAll(run, items, partitions, joined);
		int index = 0;
		for (Partition partition : partitions) {
			answer(partition, previous.get(index++));
		}
	}

	void completeWithoutEffect(BatchRun run, List<Item> items) {
		raiseAll(run, items, partitions(items, null), false);
	}

	private List<Long> raiseAll(BatchRun run, List<Item> items, Collection<Partition> partitions, boolean joined) {
		List<OffsetMark> highest = partitions.stream().map(Partition::highest).toList();
		return this.calls.callInTransaction(StoreCall.CLAIM, run.subject(items),
				() -> StoreCalls.answers(highest, requireSupported().raise(highest, joined)));
	}

	// Raise the marks one by one, because a concurrent transaction holds one of
	// them. Only the items of its partition are blocked. Returns whether it is certain
	// that no other mark than those of the claimed items is raised.
	boolean claimEach(BatchRun run, List<Item> items, UUID token) {
		for (Partition partition : partitions(items, token)) {
			Item item = partition.items().get(0);
			if (run.plan().isLaneBlocked(item)) {
				continue;
			}
			long previous;
			try {
				previous = this.calls.callInTransaction(StoreCall.CLAIM, item.operation(),
						() -> requireSupported().raise(List.of(partition.highest()), true).get(0));
			}
			catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
				item.setClaimFailure(ex);
				if (Transactions.isUncertain(ex)) {
					return false;
				}
				continue;
			}
			// A failure after this must roll back the transaction, which has the mark.
			answer(partition, previous);
		}
		return true;
	}

	private void answer(Partition partition, long previous) {
		boolean confirmed = false;
		for (Item item : partition.items()) {
			OffsetPosition position = position(item);
			boolean duplicate = position.offset() <= previous;
			if (duplicate && !confirmed) {
				position.identity().confirm();
				this.skipped.report(position.mark(item.operation().key().scope(), null), previous);
				confirmed = true;
			}
			item.setClaim(duplicate ? COMPLETED : ACQUIRED);
		}
	}

	// The marks that the current transaction has raised for items of a batch.
	List<OffsetMark> marks(List<Item> items, UUID token) {
		return partitions(items, token).stream().map(Partition::highest).toList();
	}

	// Whether one of the marks is committed, or a higher one.
	boolean isRaised(Object subject, List<OffsetMark> raised) {
		return raised.stream()
			.anyMatch((mark) -> this.calls.settle(StoreCall.FAIL, subject, () -> requireSupported().find(mark))
				.orElse(OffsetMarks.NONE) >= mark.offset());
	}

	// A partition whose topic is not known yet is blocked, and the others are not.
	private static Collection<Partition> partitions(List<Item> items, @Nullable UUID token) {
		Map<Object, Partition> partitions = new LinkedHashMap<>();
		Set<Object> unknown = new HashSet<>();
		for (Item item : items) {
			if (unknown.contains(item.lane())) {
				continue;
			}
			try {
				OffsetMark mark = position(item).mark(item.operation().key().scope(), token);
				partitions.merge(item.lane(), Partition.of(mark, item), Partition::and);
			}
			catch (OperationBlockedException ex) {
				item.setClaimFailure(ex);
				unknown.add(item.lane());
			}
		}
		return partitions.values();
	}

	private static OffsetPosition position(Item item) {
		return Objects.requireNonNull(item.operation().position());
	}

	private record Partition(OffsetMark highest, List<Item> items) {

		static Partition of(OffsetMark mark, Item item) {
			List<Item> items = new ArrayList<>();
			items.add(item);
			return new Partition(mark, items);
		}

		Partition and(Partition later) {
			this.items.addAll(later.items);
			return new Partition((later.highest.offset() > this.highest.offset()) ? later.highest : this.highest,
					this.items);
		}

	}

}
