package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.store.Claim;

/**
 * What the store has said about the parts of a batch, what is to become of them for that,
 * and what became of them. The first part with a key stands for its copies.
 *
 * @param <T> the type of the result of a part
 */
final class BatchPlan<T> {

	private final List<BatchPart> parts = new ArrayList<>();

	private final ResultCodec<T> codec;

	private final List<@Nullable IdempotentResult<T>> answers;

	private int end;

	private int failedAt = -1;

	private @Nullable Throwable failure;

	BatchPlan(List<BatchItem> items, ResultCodec<T> codec) {
		this.codec = codec;
		this.answers = new ArrayList<>(Collections.nCopies(items.size(), null));
		this.end = items.size();
		Map<IdempotencyKey, BatchPart> known = new HashMap<>();
		for (BatchItem item : items) {
			IdempotentOperation operation = item.operation();
			BatchPart origin = (operation != null) ? known.get(operation.key()) : null;
			BatchPart part = new BatchPart(this.parts.size(), item, origin);
			if (operation != null && origin == null) {
				known.put(operation.key(), part);
			}
			this.parts.add(part);
		}
	}

	BatchPart part(int index) {
		return this.parts.get(index);
	}

	private List<Integer> which(IntPredicate condition) {
		return IntStream.range(0, this.parts.size()).filter(condition).boxed().toList();
	}

	/**
	 * The parts whose keys are still to be asked for.
	 * @return their indexes, each key once
	 */
	List<Integer> unanswered() {
		return which((i) -> part(i).isUnanswered());
	}

	/**
	 * Everything that is not answered has to wait.
	 * @param reason why
	 */
	void blockRest(OperationBlockedException reason) {
		unclaim();
		this.parts.stream().filter(BatchPart::isUnanswered).forEach((part) -> part.block(reason));
		decide();
		if (this.parts.stream().noneMatch(BatchPart::isWaiting)) {
			// None of them has a key, but they need a transaction.
			due().forEach((index) -> part(index).makeWait(reason));
		}
	}

	/**
	 * Whether an earlier part of the same lane is known to wait.
	 * @param index the part
	 * @return whether it need not be asked for
	 */
	boolean isBehind(int index) {
		return this.parts.subList(0, index)
			.stream()
			.anyMatch((part) -> part.isBlocked() && part.lane().equals(part(index).lane()));
	}

	/**
	 * Leave out a part and all that come after it.
	 * @param index the part that failed, -1 if nobody knows which one did
	 * @param error why
	 */
	void fail(int index, Throwable error) {
		this.failedAt = index;
		this.failure = error;
		this.end = Math.max(0, index);
	}

	/**
	 * Decide about each part, when all keys have been answered. Deciding again, with more
	 * answers, never lets a part run that was not to run.
	 */
	void decide() {
		Map<Object, OperationBlockedException> closed = new HashMap<>();
		for (BatchPart part : this.parts) {
			OperationBlockedException before = closed.get(part.lane());
			if (part.index() >= this.end) {
				part.leaveOut(null);
			}
			else if (before != null) {
				part.leaveOut(before);
			}
			else {
				decide(part);
				if (part.isWaiting()) {
					closed.put(part.lane(), part.reason());
				}
			}
		}
	}

	private void decide(BatchPart part) {
		try {
			Claim answer = part.decide();
			if (answer != null) {
				this.answers.set(part.index(), Answers.answer(part.operation(), answer, this.codec));
			}
		}
		catch (OperationBlockedException ex) {
			part.makeWait(ex);
		}
		catch (OperationRejectedException ex) {
			part.leaveOut(null);
			fail(part.index(), ex);
		}
	}

	/**
	 * The parts that the handler gets.
	 * @return their indexes
	 */
	List<Integer> due() {
		return which((i) -> part(i).isDue());
	}

	boolean isFailed() {
		return this.failure != null;
	}

	// Something waits, or can never be handled.
	boolean isIncomplete() {
		return this.failure != null || this.parts.stream().anyMatch(BatchPart::isWaiting);
	}

	/**
	 * The parts that have been claimed in vain.
	 * @return their indexes
	 */
	List<Integer> surplus() {
		return which((i) -> part(i).isClaimed() && !part(i).isDue());
	}

	void done(int index, @Nullable T result) {
		this.answers.set(index, new IdempotentResult<>(result, false));
	}

	/**
	 * What has run does not hold, and has to be delivered again.
	 * @param index the part
	 * @param reason why
	 */
	void undone(int index, OperationBlockedException reason) {
		this.answers.set(index, null);
		part(index).makeWait(reason);
	}

	/**
	 * Forget what a transaction that was rolled back had claimed.
	 */
	void unclaim() {
		this.parts.forEach(BatchPart::unclaim);
	}

	BatchResult<T> result() {
		SortedMap<Integer, OperationBlockedException> waiting = new TreeMap<>();
		for (BatchPart part : this.parts) {
			BatchPart origin = part.origin();
			if (origin != null && part.isCopy()) {
				IdempotentResult<T> original = this.answers.get(origin.index());
				this.answers.set(part.index(),
						(original != null) ? new IdempotentResult<>(original.result(), true) : null);
			}
			BatchPart source = (origin != null && part.isCopy()) ? origin : part;
			if (source.isWaiting()) {
				waiting.put(part.index(), source.reason());
			}
		}
		return new BatchResult<>(Collections.unmodifiableList(this.answers), waiting, this.failedAt, this.failure);
	}

}
