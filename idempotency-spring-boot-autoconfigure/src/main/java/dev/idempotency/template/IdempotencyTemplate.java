/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.Assert;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Internal;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationLostException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.Threads;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotentOperation.Handler;

/**
 * Runs an operation once per key: the protocol of both modes, usable without the
 * {@link Idempotent} annotation, as a {@code TransactionTemplate} is without
 * {@code @Transactional}.
 * <p>
 * Guaranteed: while a claim is alive no other execution for its key starts; a completed
 * key never runs again within its retention. In transactional mode the handler's writes
 * in the store's database and the record commit together. In leased mode the handler runs
 * again if the process dies between the handler's effect and its completion.
 * <p>
 * Not guaranteed: effects outside the database are not undone when a handler fails.
 *
 * @since 0.1.0
 */
public final class IdempotencyTemplate implements AutoCloseable {

	private final Engine engine;

	private final Settings settings;

	private final @Nullable String leaseProblem;

	private final Leases leases;

	private final Settlements settlements;

	private final AsyncSettlements asynchronous;

	private final ClaimsAhead claimsAhead;

	private final TransactionalProtocol.@Nullable Parts transactional;

	private final IdempotencyAdmin admin;

	private final Map<Class<?>, ResultCodec<Object>> codecs = new ConcurrentHashMap<>();

	/**
	 * Create a template.
	 * @param store the store of the keys
	 * @param settings the settings
	 */
	public IdempotencyTemplate(IdempotencyStore store, Settings settings) {
		String name = (settings.name() != null) ? settings.name() : store.name();
		LocalClaims claims = new LocalClaims();
		this.engine = new Engine(store,
				new StoreCalls(name, settings.observers(), settings.circuit(), settings.failOpen()),
				new LocalCompletions(settings.cache()), claims,
				new StoredResults(settings.maximumResultSize(), settings.transformer(), settings.observers(), claims),
				new OtherContents(), settings.observers(), new OperationContexts(settings.contexts()));
		this.settings = settings;
		this.leaseProblem = store.leaseProblem();
		this.leases = new Leases(this.engine, Threads.named("leases"));
		this.settlements = new Settlements(this.engine, this.leases, Threads.named("pending"));
		this.asynchronous = new AsyncSettlements(this.settlements, Threads.named("settlements"),
				Threads.named("answers"));
		this.claimsAhead = new ClaimsAhead(this.engine, this.settlements, Threads.named("ahead"));
		PlatformTransactionManager manager = settings.transactionManager();
		this.transactional = (manager != null && store instanceof TransactionalIdempotencyStore transactionalStore)
				? new TransactionalProtocol.Parts(this.engine, transactionalStore,
						new Transactions(this.engine, transactionalStore, manager, this.asynchronous),
						transactionalStore.offsetMarks().orElse(null), new SkippedOffsets(), this.settlements)
				: null;
		this.admin = new IdempotencyAdmin(this.engine, this.settlements);
	}

	/**
	 * Return the store in use.
	 * @return the store
	 */
	public IdempotencyStore store() {
		return this.engine.store();
	}

	/**
	 * Return the name of the store for messages and meters.
	 * @return the name in the settings, or that of the store
	 */
	public String name() {
		return this.engine.calls().store();
	}

	/**
	 * Return the transaction manager of the store's database.
	 * @return the transaction manager, {@code null} if only {@link Mode#LEASED} is used
	 */
	public @Nullable PlatformTransactionManager transactionManager() {
		return this.settings.transactionManager();
	}

	/**
	 * Return the administration of the records by hand.
	 * @return the administration
	 */
	public IdempotencyAdmin admin() {
		return this.admin;
	}

	/**
	 * Whether {@link Mode#TRANSACTIONAL} is supported.
	 * @return whether the store can join the transactions of the transaction manager
	 */
	public boolean supportsTransactions() {
		return this.transactional != null;
	}

	/**
	 * Return why {@link Mode#LEASED} is not supported.
	 * @return the store's reason, as a clause; {@code null} if it is supported
	 */
	public @Nullable String leaseProblem() {
		return this.leaseProblem;
	}

	/**
	 * Whether operations with an {@link OffsetPosition} are supported.
	 * @return the reason why they are not, as a sentence without a full stop;
	 * {@code null} if they are
	 */
	@Internal
	public @Nullable String offsetProblem() {
		if (this.transactional == null) {
			return "The store '" + name() + "' cannot join a transaction";
		}
		return (this.transactional.marks() != null) ? null
				: "The store '" + name() + "' has no marks of offsets, or the store from which its keys move has none";
	}

	/**
	 * Whether a {@link ClaimAhead} is supported.
	 * @return whether the store completes an operation and claims the next one in one
	 * round trip
	 */
	@Internal
	public boolean supportsClaimAhead() {
		return this.leaseProblem == null && this.engine.store().supportsClaimAhead();
	}

	/**
	 * Create the claim ahead of a thread that runs operations one after the other.
	 * @param next supplies the operation that this thread will run next, or {@code null};
	 * called when a handler has returned
	 * @return the claim
	 */
	@Internal
	public ClaimAhead claimAhead(Supplier<@Nullable IdempotentOperation> next) {
		Assert.state(supportsClaimAhead(), "The store does not support a claim ahead");
		return new ClaimAhead(this.claimsAhead, next);
	}

	/**
	 * Describe an operation that is to be run, with the defaults of this template for
	 * everything that is not set.
	 * @param name the name of the operation for meters and messages, from a small fixed
	 * set. It is also the scope of the key, unless another one is set
	 * @param key the key
	 * @return the description
	 * @throws IdempotencyKeyMissingException if the key is missing, blank or too long, or
	 * has a character that no key may have
	 */
	public OperationSpec operation(String name, @Nullable String key) {
		return new OperationSpec(this, this.settings.defaults(), name, key);
	}

	@SuppressWarnings("unchecked")
	<T> ResultCodec<T> codec(Class<T> type, Serialization serialization) {
		return (ResultCodec<T>) this.codecs.computeIfAbsent(type, serialization::codec);
	}

	/**
	 * Run an operation with {@link TransactionBoundary#DEFAULT}.
	 * @param operation the operation
	 * @param codec writes and reads the stored result
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of the first execution
	 * @throws E if the handler throws it
	 * @throws OperationDeclinedException if this or the first execution has declined the
	 * operation for good
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException if the operation can never be run
	 */
	public <T, E extends Throwable> IdempotentResult<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			Handler<T, E> handler) throws E {
		return execute(operation, codec, TransactionBoundary.DEFAULT, null, handler);
	}

	/**
	 * Run an operation, and claim the key of the next operation of this thread when it
	 * has completed.
	 * @param operation the operation
	 * @param codec writes and reads the stored result
	 * @param boundary the transaction in which the handler runs
	 * @param ahead the claim of this thread, {@code null} to claim nothing ahead
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of the first execution
	 * @throws E if the handler throws it
	 * @throws IllegalStateException in leased mode if a transaction without
	 * synchronization, such as a Kafka transaction, is active on this thread: its outcome
	 * cannot be observed
	 * @throws OperationDeclinedException if this or the first execution has declined the
	 * operation for good
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException if the operation can never be run
	 */
	@Internal
	public <T, E extends Throwable> IdempotentResult<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			TransactionBoundary boundary, @Nullable ClaimAhead ahead, Handler<T, E> handler) throws E {
		SingleHandler<E> single = new SingleHandler<>(handler, codec);
		return single.resultOf(execute(BatchRun.of(this.engine, operation, codec, single), boundary, ahead));
	}

	private BatchPlan execute(BatchRun run, TransactionBoundary boundary, @Nullable ClaimAhead ahead) {
		try {
			run.replayCached();
			if (run.isSingle() && run.plan().unanswered().isEmpty()) {
				run.plan().decide();
			}
			else {
				execute(run, boundary, ahead, true);
			}
			return run.end(null);
		}
		catch (Throwable ex) {
			run.end(ex);
			throw ex;
		}
		finally {
			run.leaveContext();
		}
	}

	private void execute(BatchRun run, TransactionBoundary boundary, @Nullable ClaimAhead ahead, boolean isProtected) {
		try {
			if (run.mode() != Mode.LEASED) {
				Assert.state(this.transactional != null, "The store cannot join a transaction. Use leased mode, or "
						+ "configure a transaction manager for the template");
				new TransactionalProtocol(this.transactional, run, boundary).execute(isProtected);
			}
			else {
				leased(run, isProtected ? boundary : null, ahead).execute();
			}
			run.setUnprotected(!isProtected);
		}
		catch (OperationBlockedException ex) {
			run.plan().unclaim();
			if (isProtected && this.settings.failOpen() && !run.isStarted()
					&& ex instanceof IdempotencyStoreUnavailableException) {
				execute(run, boundary, null, false);
			}
			else {
				run.plan().blockRest(ex);
			}
		}
	}

	/**
	 * Run a handler that has no key. In transactional mode it runs in the same
	 * transaction as a handler with a key: its writes are committed as a whole when it
	 * returns, and rolled back when it throws an exception.
	 * @param subject the subject of the handler, for messages
	 * @param mode the mode, not {@link Mode#AUTO}
	 * @param boundary the transaction in which the handler runs
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of the handler
	 * @throws E if the handler throws it
	 * @throws IdempotencyStoreUnavailableException if no transaction can begin; the
	 * handler has not run then
	 */
	@Internal
	public <T, E extends Throwable> @Nullable T executeUnprotected(Object subject, Mode mode,
			TransactionBoundary boundary, Handler<T, E> handler) throws E {
		if (mode == Mode.LEASED) {
			return handler.handle();
		}
		SingleHandler<E> single = new SingleHandler<>(handler, null);
		BatchRun run = BatchRun.withoutOperation(this.engine, subject, single);
		execute(run, boundary, null, false);
		return single.<T>resultOf(run.end(null)).result();
	}

	/**
	 * Run an asynchronous operation, in leased mode. Its lease is renewed until the stage
	 * of the handler completes.
	 * @param operation the operation
	 * @param codec writes and reads the stored result
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of the first execution. It is completed when the
	 * completion of the operation is recorded, not while the store is unavailable, on a
	 * thread that no other operation needs, so that the caller may continue on it for any
	 * time. It fails as the operation does, and with {@link OperationLostException} if
	 * another owner has taken the operation over. Its cancellation cancels the operation
	 * @throws E if the handler throws it before it returns a stage
	 * @throws IllegalStateException if a transaction is active on this thread, because
	 * the operation cannot wait for its outcome
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException if the operation can never be run
	 */
	public <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(IdempotentOperation operation,
			ResultCodec<T> codec, Handler<CompletionStage<T>, E> handler) throws E {
		return executeAsync(operation, codec, handler, this.settings.failOpen());
	}

	/**
	 * Run an asynchronous operation as
	 * {@link #executeAsync(IdempotentOperation, ResultCodec, Handler)} does, but do not
	 * fail when another owner takes it over, or when the handler fails because it is
	 * blocked: check the store every second or two until the outcome is known. If the
	 * other owner completes the operation, its result is replayed. If its claim fails or
	 * expires, the handler runs again, on a thread of the template.
	 * @param operation the operation
	 * @param codec writes and reads the stored result
	 * @param handler the handler, called again if it has to run again
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of another execution. It is never completed after the
	 * template has been closed
	 * @throws E if the handler throws it before it returns a stage
	 * @throws IllegalStateException if a transaction is active on this thread, because
	 * the operation cannot wait for its outcome
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * at first
	 * @throws OperationRejectedException if the operation can never be run
	 */
	@Internal
	public <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsyncUntilCompleted(
			IdempotentOperation operation, ResultCodec<T> codec, Handler<CompletionStage<T>, E> handler) throws E {
		// A repetition must not fail open: the handler has run before.
		return this.asynchronous.untilCompleted(executeAsync(operation, codec, handler),
				() -> executeAsync(operation, codec, handler, false), new CompletableFuture<>());
	}

	private <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(IdempotentOperation operation,
			ResultCodec<T> codec, Handler<CompletionStage<T>, E> handler, boolean mayFailOpen) throws E {
		Assert.isTrue(operation.mode() == Mode.LEASED,
				"A transaction ends when its method returns. Use leased mode for an asynchronous operation");
		SingleHandler<E> single = new SingleHandler<>(Declined.returningAsync(handler, codec), null);
		BatchRun run = BatchRun.of(this.engine, operation, codec, single);
		CompletableFuture<IdempotentResult<Object>> execution;
		try {
			execution = start(run, mayFailOpen);
			if (execution == null) {
				run.end(null);
			}
		}
		catch (Throwable ex) {
			run.end(ex);
			throw ex;
		}
		finally {
			run.leaveContext();
		}
		return (execution != null) ? AsyncSettlements.reported(execution, run)
				: CompletableFuture.completedFuture(single.resultOf(run.plan()));
	}

	// Returns null if the operation has ended without a result.
	private @Nullable CompletableFuture<IdempotentResult<Object>> start(BatchRun run, boolean mayFailOpen) {
		try {
			Assert.state(!TransactionCompletions.isTransactionActive(),
					"An asynchronous operation cannot wait for the transaction that is active on this thread. Call it "
							+ "outside of the transaction, or after its commit");
			run.replayCached();
			return leased(run, TransactionBoundary.DEFAULT, null).executeAsync(this.asynchronous);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			if (!mayFailOpen || run.isStarted()) {
				throw ex;
			}
			run.setUnprotected(true);
			return leased(run, null, null).executeAsync(this.asynchronous);
		}
	}

	/**
	 * Run a batch with {@link TransactionBoundary#DEFAULT} and the mode of its
	 * operations.
	 * @param items the items of the batch
	 * @param codec writes and reads the stored result of an item
	 * @param handler processes the items that are due
	 * @param <T> the type of the result of an item
	 * @return the result of the batch
	 */
	public <T> BatchResult<T> executeAll(List<BatchItem> items, ResultCodec<T> codec, BatchHandler<T> handler) {
		Mode mode = items.stream()
			.map(BatchItem::operation)
			.filter(Objects::nonNull)
			.map(IdempotentOperation::mode)
			.findFirst()
			.orElse(Mode.LEASED);
		return executeAll(items, mode, codec, TransactionBoundary.DEFAULT, handler);
	}

	/**
	 * Run a batch: one call of the store claims its keys, and one completes them. Of
	 * copies in the batch the first one is run. Items that cannot be run now are blocked,
	 * together with the later items of their lane; the others are run. If the handler
	 * names the item at which it failed, the items before it are completed; in
	 * transactional mode they are run once more for that, after a rollback.
	 * @param items the items of the batch
	 * @param mode the mode of all items, also of those without a key; not
	 * {@link Mode#AUTO}
	 * @param codec writes and reads the stored result of an item
	 * @param boundary the transaction in which the handler runs; in transactional mode a
	 * new one
	 * @param handler processes the items that are due
	 * @param <T> the type of the result of an item
	 * @return the result of the batch
	 * @throws IllegalStateException in leased mode if a transaction without
	 * synchronization, such as a Kafka transaction, is active on this thread: its outcome
	 * cannot be observed
	 */
	@Internal
	public <T> BatchResult<T> executeAll(List<BatchItem> items, Mode mode, ResultCodec<T> codec,
			TransactionBoundary boundary, BatchHandler<T> handler) {
		@SuppressWarnings("unchecked")
		BatchRun run = BatchRun.of(this.engine, items, mode, codec, (BatchHandler<Object>) handler);
		return execute(run, boundary, null).result();
	}

	private LeasedProtocol leased(BatchRun run, @Nullable TransactionBoundary boundary, @Nullable ClaimAhead ahead) {
		Assert.state(this.leaseProblem == null, () -> "Leased mode is not possible: " + this.leaseProblem
				+ ". Use transactional mode or another store");
		return new LeasedProtocol(this.engine, this.settlements, this.asynchronous, run, boundary, ahead);
	}

	/**
	 * Retry all pending completions now, whatever the state of the circuit breaker. To be
	 * called when no handler is running any more and the store is still available.
	 */
	@Internal
	public void settle() {
		this.asynchronous.awaitRunning();
		this.settlements.settleLast();
	}

	/**
	 * Stop the renewal of leases, and {@link #settle() settle} a last time.
	 */
	@Override
	public void close() {
		this.asynchronous.close();
		this.claimsAhead.close();
		this.settlements.close();
		// Leases are renewed until all claims are settled.
		this.leases.close();
	}

	/**
	 * The settings of a template.
	 *
	 * @param name the name of the store for messages and meters, {@code null} for
	 * {@link IdempotencyStore#name()}
	 * @param transactionManager the manager of the store's database, {@code null} if only
	 * {@link Mode#LEASED} is used
	 * @param failOpen whether handlers run unprotected while the store is unavailable
	 * @param circuit the circuit breaker around the store
	 * @param cache the local cache of completed keys
	 * @param observers the observers to notify
	 * @param contexts the contexts to open around operations
	 * @param maximumResultSize the maximum size of a result that the store holds
	 * @param transformer changes outcomes before they are stored, {@code null} to store
	 * them as they are
	 * @param defaults the defaults of {@link #operation operations}
	 * @since 0.1.0
	 */
	public record Settings(@Nullable String name, @Nullable PlatformTransactionManager transactionManager,
			boolean failOpen, StoreCircuit circuit, @Internal CompletionCache cache, Observers observers,
			List<OperationContext> contexts, DataSize maximumResultSize, @Nullable StoredOutcomeTransformer transformer,
			@Internal OperationSpec.Defaults defaults) {

		/**
		 * The default maximum size of a result. A record with it fits into every store.
		 */
		public static final DataSize DEFAULT_MAXIMUM_RESULT_SIZE = DataSize.ofKilobytes(256);

		@Internal
		public Settings {
			contexts = List.copyOf(contexts);
		}

		/**
		 * Create settings that have neither a circuit breaker nor a cache nor contexts.
		 * @param transactionManager the manager of the store's database
		 * @param failOpen whether handlers run unprotected while the store is unavailable
		 * @param observers the observers to notify
		 */
		public Settings(@Nullable PlatformTransactionManager transactionManager, boolean failOpen,
				Observers observers) {
			this(null, transactionManager, failOpen, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, observers,
					List.of(), DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD);
		}

	}

}
