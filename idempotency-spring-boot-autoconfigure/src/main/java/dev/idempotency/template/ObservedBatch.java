package dev.idempotency.template;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyListener.Execution;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * Tells how the handling of each operation of a batch ended. Its time is an equal share
 * of that of the batch.
 */
final class ObservedBatch {

	private final IdempotencyListener listener;

	private final List<BatchItem> items;

	private final Mode mode;

	private final OperationContext.@Nullable OpenContext context;

	private final long start = System.nanoTime();

	private boolean unprotected;

	// Parts whose completion is deferred each for itself.
	private final Set<Integer> waiting = new HashSet<>();

	private boolean deferred;

	private Outcome done = Outcome.PROCESSED;

	private @Nullable BatchResult<?> executed;

	ObservedBatch(IdempotencyListener listener, OperationContext context, List<BatchItem> items, Mode mode) {
		this.listener = listener;
		this.items = items;
		List<IdempotentOperation> operations = items.stream()
			.map(BatchItem::operation)
			.filter(Objects::nonNull)
			.toList();
		Assert.isTrue(operations.stream().allMatch((operation) -> operation.mode() == mode),
				"The operations of a batch must have its mode");
		this.mode = mode;
		// A listener has one for all.
		this.context = operations.isEmpty() ? null : context.beginBatch(operations.get(0).key().scope());
	}

	Mode mode() {
		return this.mode;
	}

	void unprotected() {
		this.unprotected = true;
	}

	/**
	 * Wait with what is told until the transaction of the caller has ended.
	 * @param deferral who gets the completions, if there is such a transaction
	 * @return the same, but observed
	 */
	@Nullable Deferral deferred(@Nullable Deferral deferral) {
		if (deferral == null) {
			return null;
		}
		return (pending) -> {
			this.deferred = true;
			deferral.defer(new ObservedCompletion(pending, (ended) -> {
				// Which of them somebody else has taken over is in the log.
				this.done = (ended == Outcome.LOST) ? Outcome.PROCESSED : ended;
				this.deferred = false;
				if (this.executed != null) {
					tell(this.executed);
				}
			}));
		};
	}

	/**
	 * Wait with what is told about a part until its completion has ended.
	 * @param part the index of the part
	 * @param pending its completion
	 * @return the same, but observed
	 */
	PendingCompletion deferred(int part, PendingCompletion pending) {
		this.waiting.add(part);
		IdempotentOperation operation = Objects.requireNonNull(this.items.get(part).operation());
		return new ObservedCompletion(pending, (ended) -> this.listener
			.executed(new Execution(operation.name(), operation.mode(), operation.key(), ended, share())));
	}

	private Duration share() {
		return Duration.ofNanos((System.nanoTime() - this.start) / Math.max(1, this.items.size()));
	}

	/**
	 * Tell what came of the batch, now or when the transaction of the caller has ended.
	 * @param executed what came of it
	 */
	void tell(BatchResult<?> executed) {
		this.executed = executed;
		if (this.deferred) {
			return;
		}
		Duration share = share();
		for (int i = 0; i < this.items.size(); i++) {
			IdempotentOperation operation = this.items.get(i).operation();
			Outcome outcome = outcome(i, executed);
			if (operation != null && outcome != null && !this.waiting.contains(i)) {
				this.listener
					.executed(new Execution(operation.name(), operation.mode(), operation.key(), outcome, share));
			}
		}
	}

	/**
	 * The thread that began the batch leaves it.
	 */
	void leave() {
		if (this.context != null) {
			this.context.close();
		}
	}

	// None for a part whose turn has not come.
	private @Nullable Outcome outcome(int index, BatchResult<?> executed) {
		IdempotentResult<?> answer = executed.results().get(index);
		if (answer != null) {
			return answer.duplicate() ? Outcome.DUPLICATE : (this.unprotected ? Outcome.UNPROTECTED : this.done);
		}
		Throwable error = executed.blocked().get(index);
		if (error == null && executed.failedAt() == index) {
			error = executed.failure();
		}
		if (error != null) {
			return Observed.outcome(error);
		}
		return (executed.failure() != null && executed.failedAt() < 0) ? Outcome.FAILED : null;
	}

}
