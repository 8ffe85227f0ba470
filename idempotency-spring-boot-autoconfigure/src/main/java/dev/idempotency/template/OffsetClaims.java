/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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
import dev.idempotency.template.TransactionalProtocol.Parts;

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
 */
final class OffsetClaims implements TransactionalClaims {

	// The claim of each handler: marks do not count attempts.
	static final Claim.Acquired ACQUIRED = new Claim.Acquired(1, 1);

	private static final Claim COMPLETED = new Claim.Completed(null);

	private final Parts parts;

	private final StoreCalls calls;

	private final BatchRun run;

	private List<Item> asked = List.of();

	// That of the marks which the current transaction has raised.
	private @Nullable UUID token;

	OffsetClaims(Parts parts, BatchRun run) {
		this.parts = parts;
		this.calls = parts.engine().calls();
		this.run = run;
	}

	private OffsetMarks marks() {
		OffsetMarks marks = this.parts.marks();
		Assert.state(marks != null, "The store has no marks of offsets. Identify each operation by a key");
		return marks;
	}

	// Block the items whose topics are not known yet. The brokers may have to be
	// asked, so this comes before the transaction and the permission.
	void identify(List<Item> unanswered) {
		partitions(StoreCalls.some(unanswered, Item::hasPosition), null);
	}

	@Override
	public void ask(List<Item> unanswered) {
		this.asked = StoreCalls.some(unanswered, Item::hasPosition);
		if (!this.asked.isEmpty()) {
			marks();
			this.token = UUID.randomUUID();
		}
	}

	@Override
	public boolean claim(boolean joined, boolean insert) {
		if (!this.asked.isEmpty()) {
			Collection<Partition> partitions = partitions(this.asked, this.token);
			List<Long> previous = raiseAll(this.asked, partitions, joined);
			int index = 0;
			for (Partition partition : partitions) {
				answer(partition, previous.get(index++));
			}
		}
		return true;
	}

	@Override
	public void completeWithoutEffect(List<Item> done) {
		List<Item> positioned = StoreCalls.some(done, (item) -> item.claim() != null && item.hasPosition());
		if (!positioned.isEmpty()) {
			raiseAll(positioned, partitions(positioned, null), false);
		}
	}

	private List<Long> raiseAll(List<Item> items, Collection<Partition> partitions, boolean joined) {
		List<OffsetMark> highest = partitions.stream().map(Partition::highest).toList();
		return this.calls.callInTransaction(StoreCall.CLAIM, this.run.subject(items),
				() -> StoreCalls.answers(highest, marks().raise(highest, joined)));
	}

	// A concurrent transaction holds one of the marks. Only the items of its partition
	// are blocked.
	@Override
	public boolean claimEach() {
		for (Partition partition : partitions(this.asked, this.token)) {
			Item item = partition.items().get(0);
			if (this.run.plan().isLaneBlocked(item)) {
				continue;
			}
			long previous;
			try {
				previous = this.calls.callInTransaction(StoreCall.CLAIM, item.operation(),
						() -> marks().raise(List.of(partition.highest()), true).get(0));
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
				this.parts.skipped().report(position.mark(item.operation().key().scope(), null), previous);
				confirmed = true;
			}
			item.setClaim(duplicate ? COMPLETED : ACQUIRED);
		}
	}

	@Override
	public Claimed claimed(List<Item> items) {
		List<Item> positioned = StoreCalls.some(items, Item::isPositioned);
		List<OffsetMark> raised = partitions(positioned, this.token).stream().map(Partition::highest).toList();
		Object subject = positioned.isEmpty() ? "" : this.run.subject(positioned);
		return new Claimed() {

			@Override
			public boolean isEmpty() {
				return raised.isEmpty();
			}

			// There is no record of the failure. A mark that is committed, or a higher
			// one, completes all items.
			@Override
			public List<Item> fail(Throwable error) {
				boolean completed = raised.stream()
					.anyMatch(
							(mark) -> OffsetClaims.this.calls.settle(StoreCall.FAIL, subject, () -> marks().find(mark))
								.orElse(OffsetMarks.NONE) >= mark.offset());
				return completed ? positioned : List.of();
			}

			@Override
			public void undo() {
				StoreCalls.inParts(raised, (part) -> OffsetClaims.this.calls.settle(StoreCall.RELEASE, subject,
						() -> OffsetClaims.this.parts.store().settleAfterTransaction(List.of(), part)));
			}

		};
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
