package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.IdempotentExecution.Holder;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.Claim;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.BatchPlan.Item;
import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * One delivery of a batch: runs its handler, and reports the outcome of each operation to
 * the listener. The duration of an operation is an equal share of that of the batch.
 *
 * @param <T> the type of the result of an item
 */
final class BatchRun<T> {

	private static final Log logger = LogFactory.getLog(BatchRun.class);

	private final BatchPlan<T> plan;

	private final Mode mode;

	private final ResultCodec<T> codec;

	private final ResultCodec<?> bodyCodec;

	private final BatchHandler<T> handler;

	private final Engine engine;

	private final OpenContext context;

	private final long start = System.nanoTime();

	private boolean started;

	private boolean unprotected;

	// The items whose completions are deferred separately. Each reports its own outcome.
	private final Set<Integer> deferredItems = new HashSet<>();

	private boolean deferred;

	// The values of the items up to the last declined one, while the handler runs.
	private final List<@Nullable T> finished = new ArrayList<>();

	// The items that were declined in a transaction that was rolled back.
	private final Set<Integer> declined = new HashSet<>();

	// The reasons for which the handler itself is blocked.
	private final Set<Throwable> handlerBlocked = new HashSet<>();

	private Outcome completed = Outcome.PROCESSED;

	private @Nullable BatchResult<T> result;

	BatchRun(Engine engine, List<BatchItem> items, Mode mode, ResultCodec<T> codec, ResultCodec<?> bodyCodec,
			BatchHandler<T> handler) {
		List<IdempotentOperation> operations = items.stream()
			.map(BatchItem::operation)
			.filter(Objects::nonNull)
			.toList();
		Assert.isTrue(operations.stream().allMatch((operation) -> operation.mode() == mode),
				() -> "All operations of a batch must have the mode of the batch, " + mode);
		this.plan = new BatchPlan<>(items, codec, engine.results());
		this.mode = mode;
		this.codec = codec;
		this.bodyCodec = bodyCodec;
		this.handler = handler;
		this.engine = engine;
		// The operations of a listener have the same scope.
		this.context = operations.isEmpty() ? OperationContexts.NONE
				: engine.contexts().beginBatch(operations.get(0).key().scope());
	}

	BatchPlan<T> plan() {
		return this.plan;
	}

	Mode mode() {
		return this.mode;
	}

	BatchHandler<T> handler() {
		return this.handler;
	}

	void replayFrom(BiFunction<Integer, IdempotentOperation, Claim.@Nullable Completed> completions) {
		for (int index : this.plan.unanswered()) {
			Item item = this.plan.item(index);
			Claim.Completed known = completions.apply(index, item.operation());
			if (known != null) {
				item.setClaim(known);
			}
		}
	}

	// Whether the handler has been started for one of the operations in this
	// process, by this delivery or by an earlier one whose completion was pending.
	boolean isStarted() {
		return this.started;
	}

	void markStarted() {
		this.started = true;
	}

	// Run the handler. In leased mode it is called again for the items after a
	// declined one.
	List<@Nullable T> run(List<Integer> due, Function<Integer, @Nullable IdempotentExecution> executions)
			throws Throwable {
		this.started = true;
		this.finished.clear();
		while (this.finished.size() < due.size()) {
			List<Integer> rest = due.subList(this.finished.size(), due.size());
			try {
				this.finished.addAll(runOnce(rest, executions));
			}
			catch (Throwable ex) {
				T declined = (this.mode == Mode.LEASED) ? declined(rest, ex) : null;
				if (declined == null) {
					throw ex;
				}
				this.finished.addAll(noResults(this.handler.failedAt(ex)));
				this.finished.add(declined);
			}
		}
		return new ArrayList<>(this.finished);
	}

	private List<@Nullable T> runOnce(List<Integer> due, Function<Integer, @Nullable IdempotentExecution> executions)
			throws Throwable {
		List<@Nullable IdempotentExecution> current = due.stream()
			.<@Nullable IdempotentExecution>map(executions)
			.toList();
		List<@Nullable IdempotentExecution> previous = Holder.bind(current);
		try {
			return handle(due);
		}
		finally {
			Holder.bind(previous);
		}
	}

	private List<@Nullable T> handle(List<Integer> due) throws Throwable {
		try {
			return checked(this.handler.handle(due), due);
		}
		catch (Throwable ex) {
			OperationBlockedException blocked = OperationBlockedException.in(ex);
			if (blocked != null) {
				this.handlerBlocked.add(blocked);
			}
			throw ex;
		}
	}

	// The decline of an item without a claim could not be stored.
	@SuppressWarnings("unchecked")
	@Nullable T declined(List<Integer> due, Throwable error) {
		OperationDeclinedException declined = this.handler.declinedBy(error);
		int position = this.handler.failedAt(error);
		if (declined == null || position < 0 || position >= due.size()
				|| !this.plan.item(due.get(position)).isClaimed()) {
			return null;
		}
		try {
			return (T) Declined.of(declined, this.bodyCodec);
		}
		catch (IllegalStateException ex) {
			error.addSuppressed(ex);
			return null;
		}
	}

	// Note that an item is declined, although its decline is replayed in
	// this delivery.
	void markDeclined(int index) {
		this.declined.add(index);
	}

	List<@Nullable T> valuesBefore(int count) {
		List<@Nullable T> values = new ArrayList<>(this.finished.subList(0, Math.min(count, this.finished.size())));
		values.addAll(noResults(count - values.size()));
		return values;
	}

	int finished() {
		return this.finished.size();
	}

	// Run the handler without the store, once for each key.
	void runUnprotected() {
		List<Integer> due;
		do {
			this.plan.decide();
			due = this.plan.stillDue();
		}
		while (!due.isEmpty() && !runUnprotected(due));
	}

	private boolean runUnprotected(List<Integer> due) {
		try {
			this.started = true;
			this.plan.done(due, handle(due));
			return true;
		}
		catch (Throwable ex) {
			int position = failedAt(due, ex);
			if (position > 0) {
				this.plan.done(due.subList(0, position), noResults(position));
			}
			OperationBlockedException blocked = OperationBlockedException.in(ex);
			if (blocked != null) {
				this.plan.undone((position < 0) ? due : List.of(due.get(position)), blocked);
			}
			else {
				this.plan.fail((position < 0) ? -1 : due.get(position), ex);
			}
			return false;
		}
	}

	void setUnprotected(boolean unprotected) {
		this.unprotected = unprotected;
	}

	// The effect has happened: a completion without
	// results is better than a second execution.
	private List<@Nullable T> checked(@Nullable List<@Nullable T> values, List<Integer> due) {
		if (values != null && values.size() == due.size()) {
			return values;
		}
		if (values != null) {
			logger.error("The handler of a batch returned " + values.size() + " results for " + due.size()
					+ " records, so their duplicates have no result: " + subject(due)
					+ ". Return one result for each record, in their order");
		}
		return noResults(due.size());
	}

	static <T> List<@Nullable T> noResults(int count) {
		return new ArrayList<@Nullable T>(Collections.<@Nullable T>nCopies(count, null));
	}

	// If an item can never be handled, the caller acknowledges those before it.
	int completed(int count) {
		return this.plan.isFailed() ? count : this.handler.completed(count);
	}

	int failedAt(List<Integer> due, Throwable error) {
		int position = this.handler.failedAt(error);
		int among = this.finished.size() + position;
		return (position >= 0 && among < due.size()) ? among : -1;
	}

	byte @Nullable [] write(int index, @Nullable T value) {
		return this.engine.results().write(this.plan.item(index).operation(), value, this.codec);
	}

	Object subject(List<Integer> items) {
		return new Object() {

			@Override
			public String toString() {
				Item first = BatchRun.this.plan.item(items.get(0));
				return items.size() + " operations of a batch, the first of which is "
						+ (first.isProtected() ? first.operation() : "not protected");
			}

		};
	}

	// Defer the report until the transaction of the caller has ended.
	Consumer<Outcome> deferReport() {
		this.deferred = true;
		return (ended) -> {
			// The log names the operations that another owner has taken over.
			this.completed = (ended == Outcome.LOST) ? Outcome.PROCESSED : ended;
			this.deferred = false;
			if (this.result != null) {
				report(this.result);
			}
		};
	}

	// Defer the report of one item until its completion has ended.
	Consumer<Outcome> deferReport(int index) {
		this.deferredItems.add(index);
		return (ended) -> report(index, ended, share());
	}

	// Report the outcome of each operation, now or when the transaction of the
	// caller has ended.
	BatchResult<T> end() {
		BatchResult<T> ended = this.plan.result();
		this.result = ended;
		if (!this.deferred) {
			report(ended);
		}
		return ended;
	}

	@SuppressWarnings("unchecked")
	static <T> BatchResult<T> resultsOf(BatchResult<Object> batch) {
		List<@Nullable IdempotentResult<T>> results = new ArrayList<>(batch.results().size());
		for (IdempotentResult<Object> outcome : batch.results()) {
			results.add((outcome != null && outcome.result() instanceof Declined declined)
					? new IdempotentResult<>((T) declined.body(), outcome.duplicate(), declined.reason())
					: (IdempotentResult<T>) outcome);
		}
		return new BatchResult<>(Collections.unmodifiableList(results), batch.blocked(), batch.failedAt(),
				batch.failure());
	}

	private void report(BatchResult<T> ended) {
		Duration share = share();
		for (Item item : this.plan.items()) {
			Outcome outcome = outcome(item.index(), ended);
			if (item.isProtected() && outcome != null && !this.deferredItems.contains(item.index())) {
				report(item.index(), outcome, share);
			}
		}
	}

	private void report(int index, Outcome outcome, Duration duration) {
		IdempotentOperation operation = this.plan.item(index).operation();
		HandledOperation handled = new HandledOperation(operation.name(), operation.mode(), operation.key(), outcome,
				duration);
		this.engine.observers().operation((observer) -> observer.handled(handled));
	}

	private Duration share() {
		return Duration.ofNanos((System.nanoTime() - this.start) / Math.max(1, this.plan.items().size()));
	}

	// An item that was left out has no outcome.
	private @Nullable Outcome outcome(int index, BatchResult<T> ended) {
		IdempotentResult<T> value = ended.results().get(index);
		if (value != null) {
			return outcome(index, value);
		}
		Throwable error = ended.blocked().get(index);
		if (error == null && ended.failedAt() == index) {
			error = ended.failure();
		}
		if (error != null) {
			return this.handlerBlocked.contains(error) ? Outcome.BLOCKED : Invocation.outcome(error);
		}
		return (ended.failure() != null && ended.failedAt() < 0) ? Outcome.FAILED : null;
	}

	private Outcome outcome(int index, IdempotentResult<T> value) {
		if (value.stale()) {
			return Outcome.STALE;
		}
		if (value.duplicate() && !this.declined.contains(index)) {
			return Outcome.DUPLICATE;
		}
		if (this.unprotected) {
			return Outcome.UNPROTECTED;
		}
		return (this.completed == Outcome.PROCESSED && value.result() instanceof Declined) ? Outcome.DECLINED
				: this.completed;
	}

	void leaveContext() {
		this.context.close();
	}

}
