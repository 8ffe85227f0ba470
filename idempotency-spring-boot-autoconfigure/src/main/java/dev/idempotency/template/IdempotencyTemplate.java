package dev.idempotency.template;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.IdempotencyStore;

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

	private final IdempotencyStore store;

	private final Protocols protocols;

	private final boolean failOpen;

	private final IdempotencyListener listener;

	private final OperationContext context;

	/**
	 * Create a template.
	 * @param store where keys are claimed
	 * @param settings how it works
	 */
	public IdempotencyTemplate(IdempotencyStore store, TemplateSettings settings) {
		this.store = store;
		this.failOpen = settings.failOpen();
		this.listener = new IdempotencyListeners(settings.listeners());
		this.context = new OperationContexts(settings.contexts());
		this.protocols = new Protocols(store, settings, this.listener);
	}

	/**
	 * The store in use.
	 * @return the store
	 */
	public IdempotencyStore store() {
		return this.store;
	}

	/**
	 * Return the administration of the records by hand.
	 * @return the administration
	 */
	public IdempotencyAdmin admin() {
		return this.protocols.admin();
	}

	/**
	 * Whether {@link Mode#TRANSACTIONAL} works.
	 * @return whether the store can join the transactions of the given manager
	 */
	public boolean supportsTransactions() {
		return this.protocols.supportsTransactions();
	}

	/**
	 * Whether {@link Mode#LEASED} works.
	 * @return whether the store reaches the same records from every thread
	 */
	public boolean supportsLeases() {
		return this.protocols.supportsLeases();
	}

	/**
	 * Run an operation in a transaction, if it needs one, with default settings.
	 * @param operation the operation
	 * @param codec how the result is kept
	 * @param handler what to do
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result, of this or of the first execution
	 * @throws E when the handler throws it
	 * @throws OperationBlockedException when the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException when it never can
	 */
	public <T, E extends Throwable> IdempotentResult<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			OperationHandler<T, E> handler) throws E {
		return execute(operation, codec, TransactionBoundary.DEFAULT, handler);
	}

	/**
	 * Run an operation.
	 * @param operation the operation
	 * @param codec how the result is kept
	 * @param boundary the transaction that it belongs to
	 * @param handler what to do
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result, of this or of the first execution
	 * @throws E when the handler throws it
	 * @throws IllegalStateException in leased mode when a transaction without
	 * synchronization is active on this thread, as a Kafka transaction is: its outcome
	 * cannot be observed
	 * @throws OperationBlockedException when the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException when it never can
	 */
	public <T, E extends Throwable> IdempotentResult<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			TransactionBoundary boundary, OperationHandler<T, E> handler) throws E {
		Attempt<T, E> attempt = new Attempt<>(operation, handler);
		Observed observed = new Observed(this.listener, this.context, attempt);
		try {
			IdempotentResult<T> executed = this.protocols.execute(attempt, codec, boundary, observed);
			observed.ended(executed);
			return executed;
		}
		catch (IdempotencyStoreUnavailableException ex) {
			if (!this.failOpen || attempt.started()) {
				observed.failed(ex);
				throw ex;
			}
			return unprotected(operation, boundary, handler, observed);
		}
		catch (Throwable ex) {
			observed.failed(ex);
			throw ex;
		}
		finally {
			observed.tell();
			observed.leave();
		}
	}

	// Without a transaction the handler has not run, and the record waits.
	private <T, E extends Throwable> IdempotentResult<T> unprotected(IdempotentOperation operation,
			TransactionBoundary boundary, OperationHandler<T, E> handler, Observed observed) throws E {
		try {
			return new IdempotentResult<>(executeUnprotected(operation, operation.mode(), boundary, () -> {
				observed.unprotected();
				return handler.handle();
			}), false);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			observed.failed(ex);
			throw ex;
		}
	}

	/**
	 * Run a handler that has no key. In transactional mode it runs in the same
	 * transaction as one that has a key: what it writes is committed as a whole when it
	 * returns, and rolled back when it throws anything.
	 * @param subject what is handled, for messages
	 * @param mode the mode, not {@link Mode#AUTO}
	 * @param boundary the transaction in which the handler runs
	 * @param handler what to do
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result of the handler
	 * @throws E when the handler throws it
	 * @throws IdempotencyStoreUnavailableException when no transaction can be begun; the
	 * handler has not run then
	 */
	public <T, E extends Throwable> @Nullable T executeUnprotected(Object subject, Mode mode,
			TransactionBoundary boundary, OperationHandler<T, E> handler) throws E {
		return this.protocols.executeUnprotected(subject, mode, boundary, handler);
	}

	/**
	 * Run an asynchronous operation, in leased mode. Its lease is renewed until it
	 * signals.
	 * @param operation the operation
	 * @param codec how the result is kept
	 * @param handler what to do
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result, of this or of the first execution, once its completion is
	 * recorded: while the store does not take it, there is none. It is completed on a
	 * thread that no other operation needs, so that the caller may continue on it with
	 * whatever it likes. It fails as the operation does, and with
	 * {@link OwnershipLostException} if another owner has taken the operation over;
	 * cancelling it cancels the operation
	 * @throws E when the handler throws it before there is something to wait for
	 * @throws IllegalStateException when a transaction is active on this thread, whose
	 * outcome the operation could not wait for
	 * @throws OperationBlockedException when the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException when it never can
	 */
	public <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(IdempotentOperation operation,
			ResultCodec<T> codec, OperationHandler<CompletionStage<T>, E> handler) throws E {
		return executeAsync(operation, codec, handler, this.failOpen);
	}

	/**
	 * Run an asynchronous operation as
	 * {@link #executeAsync(IdempotentOperation, ResultCodec, Handler)} does, but do not
	 * fail when another owner takes it over or when the handler fails because it is
	 * blocked: wait until the store knows the outcome, asking for it every second or two.
	 * If the other owner completes the operation, its result is the answer. If its claim
	 * fails or expires, the handler runs again, on a thread of the template.
	 * @param operation the operation
	 * @param codec how the result is kept
	 * @param handler what to do, called again if it has to run again
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result, of this or of another execution; there is none after the
	 * template has been closed
	 * @throws E when the handler throws it before there is something to wait for
	 * @throws IllegalStateException when a transaction is active on this thread, whose
	 * outcome the operation could not wait for
	 * @throws OperationBlockedException when the operation can neither be run nor skipped
	 * at first
	 * @throws OperationRejectedException when it never can
	 */
	public <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsyncUntilCompleted(
			IdempotentOperation operation, ResultCodec<T> codec, OperationHandler<CompletionStage<T>, E> handler)
			throws E {
		// The handler has run, so that it must not run again without protection.
		return this.protocols.untilCompleted(executeAsync(operation, codec, handler),
				() -> executeAsync(operation, codec, handler, false));
	}

	private <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(IdempotentOperation operation,
			ResultCodec<T> codec, OperationHandler<CompletionStage<T>, E> handler, boolean mayFailOpen) throws E {
		Assert.isTrue(operation.mode() == Mode.LEASED, "A transaction ends when its method returns; use leased mode");
		Attempt<CompletionStage<T>, E> attempt = new Attempt<>(operation, handler);
		Observed observed = new Observed(this.listener, this.context, attempt);
		CompletableFuture<IdempotentResult<T>> answer = null;
		try {
			answer = this.protocols.executeAsync(attempt, codec);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			if (!mayFailOpen || attempt.started()) {
				observed.failed(ex);
				throw ex;
			}
			observed.unprotected();
			answer = AsyncSettlements.unprotected(handler.handle());
		}
		catch (Throwable ex) {
			observed.failed(ex);
			throw ex;
		}
		finally {
			if (answer == null) {
				observed.tell();
			}
			observed.leave();
		}
		return AsyncSettlements.told(answer, observed);
	}

	/**
	 * Run a batch with default settings.
	 * @param items its parts
	 * @param codec how the result of a part is kept
	 * @param handler what to do with the parts that are due
	 * @param <T> the type of the result of a part
	 * @return what came of each part
	 */
	public <T> BatchResult<T> executeAll(List<BatchItem> items, ResultCodec<T> codec, BatchHandler<T> handler) {
		return executeAll(items, mode(items), codec, TransactionBoundary.DEFAULT, handler);
	}

	private static Mode mode(List<BatchItem> items) {
		return items.stream()
			.map(BatchItem::operation)
			.filter(Objects::nonNull)
			.map(IdempotentOperation::mode)
			.findFirst()
			.orElse(Mode.LEASED);
	}

	/**
	 * Run a batch: its keys are claimed with one call of the store, and completed with
	 * one. Of copies in the batch the first is run. Parts that cannot be run now wait,
	 * and what comes after them in their lane; the others are run. When the handler says
	 * at which part it failed, what comes before is completed; in transactional mode it
	 * is run once more for that, after a rollback.
	 * @param items its parts
	 * @param mode the mode of all of them, also of those without a key; not
	 * {@link Mode#AUTO}
	 * @param codec how the result of a part is kept
	 * @param boundary the transaction that the batch belongs to; it does not join one
	 * @param handler what to do with the parts that are due
	 * @param <T> the type of the result of a part
	 * @return what came of each part
	 * @throws IllegalStateException in leased mode when a transaction without
	 * synchronization is active on this thread, as a Kafka transaction is: its outcome
	 * cannot be observed
	 */
	public <T> BatchResult<T> executeAll(List<BatchItem> items, Mode mode, ResultCodec<T> codec,
			TransactionBoundary boundary, BatchHandler<T> handler) {
		ObservedBatch observed = new ObservedBatch(this.listener, this.context, items, mode);
		try {
			return executeAll(new BatchRun<>(items, codec, handler, this.protocols.results()), boundary, observed);
		}
		finally {
			observed.leave();
		}
	}

	private <T> BatchResult<T> executeAll(BatchRun<T> run, TransactionBoundary boundary, ObservedBatch observed) {
		BatchPlan<T> plan = run.plan();
		try {
			this.protocols.executeAll(run, boundary, observed);
		}
		catch (OperationBlockedException ex) {
			plan.unclaim();
			if (ex instanceof IdempotencyStoreUnavailableException && this.failOpen && !run.started()) {
				executeAllUnprotected(run, boundary, observed);
			}
			else {
				plan.blockRest(ex);
			}
		}
		BatchResult<T> executed = plan.result();
		observed.tell(executed);
		return executed;
	}

	private <T> void executeAllUnprotected(BatchRun<T> run, TransactionBoundary boundary, ObservedBatch observed) {
		try {
			this.protocols.executeAllUnprotected(run, observed.mode(), boundary);
			observed.unprotected();
		}
		catch (OperationBlockedException ex) {
			run.plan().blockRest(ex);
		}
	}

	/**
	 * Make up, now and whatever the circuit breaker thinks, for what the store did not
	 * take. To be called when no handler runs any more and the store still works.
	 */
	public void settle() {
		this.protocols.settle();
	}

	/**
	 * Renew no more leases, and {@link #settle() settle} a last time.
	 */
	@Override
	public void close() {
		this.protocols.close();
	}

}
