package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.template.BatchPlan.Item;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The marks of the items of a batch that are recognized by their offsets: one statement
 * raises the mark of each partition to the highest offset of the items that may run. The
 * items of a partition that run are always its first ones, because the later ones are
 * left out behind a blocked or a failed item, so that no mark passes an item that has not
 * run.
 */
final class BatchMarks {

	private static final Claim COMPLETED = new Claim.Completed(null);

	private final OffsetMarks marks;

	private final StoreCalls calls;

	private final SkippedOffsets skipped;

	private final BatchRun<?> run;

	BatchMarks(OffsetMarks marks, StoreCalls calls, SkippedOffsets skipped, BatchRun<?> run) {
		this.marks = marks;
		this.calls = calls;
		this.skipped = skipped;
		this.run = run;
	}

	// Raise the marks in the current transaction, and set the claims of the items.
	void claim(List<Integer> items) {
		Collection<Partition> partitions = partitions(items);
		List<OffsetMark> highest = partitions.stream().map(Partition::highest).toList();
		List<Long> previous = this.calls.call(StoreCall.CLAIM, this.run.subject(items),
				() -> this.marks.raiseAll(highest));
		int index = 0;
		for (Partition partition : partitions) {
			answer(partition, previous.get(index++));
		}
	}

	// Raise the marks one by one, because a concurrent transaction holds one of
	// them. Only the items of its partition are blocked.
	void claimEach(List<Integer> items) {
		for (Partition partition : partitions(items)) {
			int first = partition.items().get(0);
			if (this.run.plan().isLaneBlocked(first)) {
				continue;
			}
			Item item = this.run.plan().item(first);
			long previous;
			try {
				previous = this.calls.call(StoreCall.CLAIM, item.operation(),
						() -> this.marks.raise(partition.highest(), true));
			}
			catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
				item.setClaimFailure(ex);
				continue;
			}
			// A failure after this must roll back the transaction, which has the mark.
			answer(partition, previous);
		}
	}

	private void answer(Partition partition, long previous) {
		boolean confirmed = false;
		for (int index : partition.items()) {
			Item item = this.run.plan().item(index);
			OffsetPosition position = position(item);
			boolean duplicate = position.offset() <= previous;
			if (duplicate && !confirmed) {
				position.identity().confirm();
				this.skipped.report(position.mark(item.operation().key().scope()), previous);
				confirmed = true;
			}
			item.setClaim(duplicate ? COMPLETED : OffsetProtocol.ACQUIRED);
		}
	}

	void completeWithoutEffect(List<Integer> items) {
		List<OffsetMark> highest = partitions(items).stream().map(Partition::highest).toList();
		this.calls.call(StoreCall.CLAIM, this.run.subject(items), () -> this.marks.raiseAll(highest));
	}

	// Make sure, after a failure, that the database is available and does not have
	// the marks.
	void requireNotRaised(List<Integer> items, Throwable error, boolean inDoubt) {
		partitions(items).forEach((partition) -> OffsetProtocol.requireNotRaised(this.marks, this.calls,
				partition.highest(), this.run.subject(items), error, inDoubt));
	}

	// A partition whose topic is not known yet is blocked, and the others are not.
	private Collection<Partition> partitions(List<Integer> items) {
		Map<Object, Partition> partitions = new LinkedHashMap<>();
		Set<Object> unknown = new HashSet<>();
		for (int index : items) {
			Item item = this.run.plan().item(index);
			if (unknown.contains(item.lane())) {
				continue;
			}
			try {
				OffsetMark mark = position(item).mark(item.operation().key().scope());
				partitions.merge(item.lane(), Partition.of(mark, index), Partition::and);
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

	private record Partition(OffsetMark highest, List<Integer> items) {

		static Partition of(OffsetMark mark, int index) {
			List<Integer> items = new ArrayList<>();
			items.add(index);
			return new Partition(mark, items);
		}

		Partition and(Partition later) {
			this.items.addAll(later.items);
			return new Partition((later.highest.offset() > this.highest.offset()) ? later.highest : this.highest,
					this.items);
		}

	}

}
