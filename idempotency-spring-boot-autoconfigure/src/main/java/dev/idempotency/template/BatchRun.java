package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.BiFunction;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.IdempotentExecutionHolder;
import dev.idempotency.store.Claim;

/**
 * One delivery of a batch, and what is known about its handler.
 *
 * @param <T> the type of the result of a part
 */
final class BatchRun<T> {

	private static final Log logger = LogFactory.getLog(BatchRun.class);

	private final BatchPlan<T> plan;

	private final ResultCodec<T> codec;

	private final BatchHandler<T> handler;

	private final Results results;

	private boolean started;

	BatchRun(List<BatchItem> items, ResultCodec<T> codec, BatchHandler<T> handler, Results results) {
		this.plan = new BatchPlan<>(items, codec);
		this.codec = codec;
		this.handler = handler;
		this.results = results;
	}

	BatchPlan<T> plan() {
		return this.plan;
	}

	void answerFrom(BiFunction<IdempotencyKey, byte @Nullable [], Claim.@Nullable Completed> cache) {
		for (int index : this.plan.unanswered()) {
			IdempotentOperation operation = this.plan.part(index).operation();
			Claim.Completed known = cache.apply(operation.key(), operation.fingerprint());
			if (known != null) {
				this.plan.part(index).answer(known);
			}
		}
	}

	boolean started() {
		return this.started;
	}

	// In an earlier delivery to this process.
	void hasRun() {
		this.started = true;
	}

	/**
	 * Run the handler.
	 * @param due the parts that it gets
	 * @param executions their executions
	 * @return a result for each of them
	 */
	List<@Nullable T> run(List<Integer> due, List<@Nullable IdempotentExecution> executions) throws Throwable {
		this.started = true;
		List<@Nullable IdempotentExecution> previous = IdempotentExecutionHolder
			.bind(Collections.unmodifiableList(executions));
		try {
			return checked(this.handler.handle(due), due);
		}
		finally {
			IdempotentExecutionHolder.bind(previous);
		}
	}

	/**
	 * Run the handler without the store, once for each key.
	 */
	void executeUnprotected() {
		this.plan.decide();
		List<Integer> due = this.plan.due();
		if (due.isEmpty()) {
			return;
		}
		try {
			this.started = true;
			List<@Nullable T> results = checked(this.handler.handle(due), due);
			for (int i = 0; i < due.size(); i++) {
				this.plan.done(due.get(i), results.get(i));
			}
		}
		catch (Throwable ex) {
			int position = failedAt(due, ex);
			for (int i = 0; i < position; i++) {
				this.plan.done(due.get(i), null);
			}
			this.plan.fail((position < 0) ? -1 : due.get(position), ex);
		}
	}

	// The effect has happened: completing without results beats running it again.
	private List<@Nullable T> checked(@Nullable List<@Nullable T> results, List<Integer> due) {
		if (results != null && results.size() == due.size()) {
			return results;
		}
		if (results != null) {
			logger.error("The handler of a batch returned " + results.size() + " results for " + due.size()
					+ " records, so duplicates will get none: " + subject(due)
					+ "; return one for each record, in their order");
		}
		return noResults(due.size());
	}

	static <T> List<@Nullable T> noResults(int count) {
		List<@Nullable T> results = new ArrayList<>(count);
		for (int i = 0; i < count; i++) {
			results.add(null);
		}
		return results;
	}

	void answerFromHandler() {
		for (int index : this.plan.unanswered()) {
			Claim.Completed known = this.handler.known(index, this.plan.part(index).operation());
			if (known != null) {
				this.plan.part(index).answer(known);
			}
		}
	}

	// When a part can never be handled, the caller passes those before it.
	int completed(int count) {
		return this.plan.isFailed() ? count : this.handler.completed(count);
	}

	void defer(List<Integer> parts, List<? extends PendingCompletion> pending) {
		this.handler.defer(parts, pending);
	}

	boolean isCommitted(Throwable error) {
		return this.handler.isCommitted(error);
	}

	/**
	 * Which part failed.
	 * @param due the parts that the handler got
	 * @param error what it threw
	 * @return its position among them, -1 if nobody knows
	 */
	int failedAt(List<Integer> due, Throwable error) {
		int position = this.handler.failedAt(error);
		return (position < due.size()) ? position : -1;
	}

	// Of a part with an operation, in the transaction of its effect.
	byte @Nullable [] writeOrFail(int index, @Nullable T result) {
		return this.results.writeOrFail(this.plan.part(index).operation(), result, this.codec);
	}

	byte @Nullable [] write(int index, @Nullable T result) {
		BatchPart part = this.plan.part(index);
		return part.isProtected() ? this.results.write(part.operation(), result, this.codec) : null;
	}

	/**
	 * Says what a call of the store is about.
	 * @param parts the parts
	 * @return a text that is made when it is needed
	 */
	Object subject(List<Integer> parts) {
		return new Object() {

			@Override
			public String toString() {
				BatchPart first = BatchRun.this.plan.part(parts.get(0));
				return parts.size() + " operations of a batch, the first of which is "
						+ (first.isProtected() ? first.operation() : "not protected");
			}

		};
	}

}
