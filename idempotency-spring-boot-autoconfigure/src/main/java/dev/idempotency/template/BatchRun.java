/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
import dev.idempotency.OperationLostException;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * One delivery of a batch, or of a single operation as a batch of one: runs its handler,
 * and reports the outcome of each operation to the listener. The duration of an operation
 * is an equal share of that of the batch.
 */
final class BatchRun {

	private static final Log logger = LogFactory.getLog(BatchRun.class);

	// The name is part of the documentation.
	private static final Log outcomes = LogFactory.getLog("dev.idempotency.outcomes");

	private static final List<Integer> FIRST = List.of(0);

	private final BatchPlan plan;

	private final Mode mode;

	private final BatchHandler<Object> handler;

	private final Engine engine;

	private final OpenContext context;

	private final long start = System.nanoTime();

	// The subject of a single execution, which may join a transaction and has its own
	// context. Null for a batch.
	private final @Nullable Object single;

	private boolean started;

	private int attempt;

	private boolean unprotected;

	// The number of items up to the last declined one, while the handler runs.
	private int finished;

	// What the handler or its transaction has thrown, and the reasons for which it is
	// blocked. An application may override equals().
	private List<Throwable> thrown = List.of();

	// Why the failure of a transaction that was rolled back is not recorded: another
	// owner has the key. Nothing has happened twice.
	private @Nullable Throwable rolledBack;

	BatchRun(Engine engine, BatchPlan plan, Mode mode, BatchHandler<Object> handler, @Nullable Object single,
			OpenContext context) {
		this.engine = engine;
		this.plan = plan;
		this.mode = mode;
		this.handler = handler;
		this.single = single;
		this.context = context;
	}

	static BatchRun of(Engine engine, IdempotentOperation operation, ResultCodec<?> codec,
			BatchHandler<Object> handler) {
		return new BatchRun(engine, new BatchPlan(operation, codec, engine.results()), operation.mode(), handler,
				operation, engine.contexts().open((context) -> context.begin(operation)));
	}

	static BatchRun of(Engine engine, List<BatchItem> items, Mode mode, ResultCodec<?> codec,
			BatchHandler<Object> handler) {
		BatchPlan plan = new BatchPlan(items, codec, engine.results());
		List<Item> operations = plan.items().stream().filter(Item::isProtected).toList();
		Assert.isTrue(operations.stream().allMatch((item) -> item.operation().mode() == mode),
				() -> "All operations of a batch must have the mode of the batch, " + mode);
		// The operations of a listener have the same scope.
		OpenContext opened = operations.isEmpty() ? OperationContexts.NONE
				: engine.contexts().open((context) -> context.beginBatch(operations.get(0).operation().key().scope()));
		return new BatchRun(engine, plan, mode, handler, null, opened);
	}

	// In transactional mode, a single handler may have no operation.
	static BatchRun withoutOperation(Engine engine, Object subject, BatchHandler<Object> handler) {
		return new BatchRun(engine,
				new BatchPlan(List.of(new BatchItem(null, 0)), ResultCodec.none(), engine.results()),
				Mode.TRANSACTIONAL, handler, subject, OperationContexts.NONE);
	}

	BatchPlan plan() {
		return this.plan;
	}

	Mode mode() {
		return this.mode;
	}

	BatchHandler<Object> handler() {
		return this.handler;
	}

	boolean isSingle() {
		return this.single != null;
	}

	void replayCached() {
		for (Item item : this.plan.unanswered()) {
			item.setClaim(this.engine.cache().find(item.operation()));
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

	// Run the handler, and keep what it returns for each item. In leased mode
	// it is called again for the items after a declined one.
	void run(List<Item> due, Function<Item, @Nullable IdempotentExecution> executions) throws Throwable {
		this.started = true;
		this.finished = 0;
		while (this.finished < due.size()) {
			List<Item> rest = (this.finished == 0) ? due : due.subList(this.finished, due.size());
			try {
				runOnce(rest, executions);
				return;
			}
			catch (Throwable ex) {
				Object declined = (this.mode == Mode.LEASED) ? declined(rest, ex) : null;
				if (declined == null) {
					throw ex;
				}
				int position = this.handler.failedAt(ex);
				rest.get(position).setValue(declined);
				this.finished += position + 1;
			}
		}
	}

	private void runOnce(List<Item> due, Function<Item, @Nullable IdempotentExecution> executions) throws Throwable {
		List<@Nullable IdempotentExecution> current = StoreCalls.each(due, executions);
		IdempotentExecution first = current.get(0);
		if (isSingle() && first == null) {
			// Without protection, a single handler runs as if it were called directly.
			handle(due);
			return;
		}
		this.attempt = (isSingle() && first != null) ? first.attempt() : 0;
		List<@Nullable IdempotentExecution> previous = Holder.bind(current);
		try {
			handle(due);
		}
		finally {
			Holder.bind(previous);
		}
	}

	private void handle(List<Item> due) throws Throwable {
		try {
			List<@Nullable Object> values = this.handler
				.handle(isSingle() ? FIRST : due.stream().map(Item::index).toList());
			boolean complete = values != null && values.size() == due.size();
			for (int i = 0; i < due.size(); i++) {
				due.get(i).setValue((values != null && complete) ? values.get(i) : null);
			}
			if (values != null && !complete) {
				// The effect has happened. A completion without results is better than
				// another execution.
				logger.error("The handler of a batch returned " + values.size() + " results for " + due.size()
						+ " records, so their duplicates have no result: " + subject(due)
						+ ". Return one result for each record, in their order");
			}
			if (due.get(0).value() instanceof Declined decline && !due.get(0).isClaimed()) {
				// Its transaction must be rolled back.
				throw decline.toException(false);
			}
		}
		catch (Throwable ex) {
			addThrown(ex);
			throw ex;
		}
	}

	void addThrown(Throwable error) {
		OperationBlockedException blocked = OperationBlockedException.in(error);
		this.thrown = new ArrayList<>(this.thrown);
		this.thrown.add(error);
		if (blocked != null) {
			this.thrown.add(blocked);
		}
	}

	void setRolledBack(Throwable reason) {
		this.rolledBack = reason;
	}

	// The decline of an item without a claim could not be stored.
	@Nullable Object declined(List<Item> due, Throwable error) {
		OperationDeclinedException declined = this.handler.declinedBy(error);
		int position = this.handler.failedAt(error);
		if (declined == null || position < 0 || position >= due.size() || !due.get(position).isClaimed()) {
			return null;
		}
		try {
			return Declined.of(declined, this.plan.codec());
		}
		catch (IllegalStateException ex) {
			error.addSuppressed(ex);
			return null;
		}
	}

	int finished() {
		return this.finished;
	}

	void setUnprotected(boolean unprotected) {
		this.unprotected = unprotected;
	}

	// If an item can never be handled, the caller acknowledges those before it.
	int completed(int count) {
		return (this.plan.failure() != null) ? count : this.handler.completed(count);
	}

	// Return the position among the items at which the handler has failed, -1 if it is
	// unknown.
	int failedAt(List<Item> due, Throwable error) {
		int position = this.handler.failedAt(error);
		int among = this.finished + position;
		return (position >= 0 && among < due.size()) ? among : -1;
	}

	byte @Nullable [] write(Item item, @Nullable Object value) {
		return this.engine.results().write(item.operation(), value, this.plan.codec());
	}

	Object subject(List<Item> items) {
		if (this.single != null) {
			return this.single;
		}
		Item first = items.get(0);
		return new Object() {

			@Override
			public String toString() {
				return items.size() + " operations of a batch, the first of which is "
						+ (first.isProtected() ? first.operation() : "not protected");
			}

		};
	}

	// Defer the report of items until their completion has ended.
	Consumer<Outcome> deferReport(List<Item> items) {
		items.forEach(Item::deferReport);
		return (ended) -> {
			Duration share = share();
			for (Item item : items) {
				IdempotentResult<Object> value = item.result();
				boolean done = ended == Outcome.PROCESSED || (ended == Outcome.LOST && items.size() > 1);
				// The log names the operations that another owner has taken over.
				report(item, (done && value != null) ? outcome(item, value) : ended, share);
			}
		};
	}

	// Report the outcome of each operation whose outcome is not deferred.
	BatchPlan end(@Nullable Throwable error) {
		this.plan.end();
		Duration share = share();
		for (Item item : this.plan.items()) {
			Outcome ended = (error != null && isSingle()) ? null : outcome(item);
			// The batch may end before anything is decided, as in an unsuitable
			// transaction.
			Outcome outcome = (error != null && ended == null && (isSingle() || this.plan.failure() == null))
					? outcome(error) : ended;
			if (item.isProtected() && outcome != null && !item.isReportDeferred()) {
				report(item, outcome, share);
			}
		}
		return this.plan;
	}

	// Report the outcome of an asynchronous operation.
	void ended(@Nullable IdempotentResult<Object> result, @Nullable Throwable error) {
		Outcome failed = (error instanceof OperationLostException) ? Outcome.LOST : handlerOutcome(error);
		Outcome outcome = (result != null) ? outcome(this.plan.first(), result) : failed;
		report(this.plan.first(), this.unprotected ? Outcome.UNPROTECTED : outcome, share());
	}

	private void report(Item item, Outcome outcome, Duration duration) {
		IdempotentOperation operation = item.operation();
		HandledOperation handled = new HandledOperation(operation.name(), operation.mode(), operation.key(), outcome,
				duration, this.attempt, operation.origin());
		try {
			this.engine.otherContents().ended(operation, outcome);
			log(operation, outcome);
		}
		catch (Throwable ex) {
			// The text of an origin of the application, or a log, has failed.
			logger.warn("The outcome of an operation could not be logged: " + ex.getClass().getName());
		}
		this.engine.observers().operation((observer) -> observer.handled(handled));
		if (isSingle()) {
			OperationContexts.call(this.context, (open) -> open.ended(handled));
		}
	}

	private void log(IdempotentOperation operation, Outcome outcome) {
		boolean processed = outcome == Outcome.PROCESSED;
		if (processed ? outcomes.isTraceEnabled() : outcomes.isDebugEnabled()) {
			String message = outcome + ": " + operation + ((this.attempt > 1) ? ", attempt " + this.attempt : "");
			if (processed) {
				outcomes.trace(message);
			}
			else {
				outcomes.debug(message);
			}
		}
	}

	private Duration share() {
		return Duration.ofNanos((System.nanoTime() - this.start) / Math.max(1, this.plan.items().size()));
	}

	// An item that was left out has no outcome.
	private @Nullable Outcome outcome(Item item) {
		IdempotentResult<Object> value = item.result();
		if (value != null) {
			return outcome(item, value);
		}
		Throwable failure = this.plan.failure();
		Throwable blocked = item.blockedBy();
		Throwable error = (blocked != null || this.plan.failed() != item) ? blocked : failure;
		if (error != null) {
			boolean byHandler = (this.unprotected && isSingle())
					|| this.thrown.stream().anyMatch((one) -> one == error);
			return byHandler ? handlerOutcome(error) : outcome(error);
		}
		return (failure != null && this.plan.failed() == null) ? handlerOutcome(failure) : null;
	}

	private Outcome outcome(Throwable error) {
		return (error == this.rolledBack) ? Outcome.FAILED : Outcomes.of(error);
	}

	private Outcome outcome(Item item, IdempotentResult<Object> value) {
		if (value.stale()) {
			return Outcome.STALE;
		}
		if (value.duplicate()) {
			return item.hasOtherContent() ? Outcome.OTHER_CONTENT : Outcome.DUPLICATE;
		}
		return this.unprotected ? Outcome.UNPROTECTED
				: (value.result() instanceof Declined) ? Outcome.DECLINED : Outcome.PROCESSED;
	}

	private Outcome handlerOutcome(@Nullable Throwable error) {
		return (this.unprotected && isSingle()) ? Outcome.UNPROTECTED : Outcomes.ofHandler(error);
	}

	void leaveContext() {
		OperationContexts.call(this.context, OpenContext::close);
	}

}
