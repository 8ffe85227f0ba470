package dev.idempotency;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyListener.Execution;
import dev.idempotency.IdempotencyListener.Outcome;

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

	private final LeasedProtocol leased;

	private final @Nullable TransactionalProtocol transactional;

	private final Leases leases;

	private final LooseEnds looseEnds;

	private final CompletionCache cache;

	private final boolean failOpen;

	private final IdempotencyListener listener;

	/**
	 * Create a template.
	 * @param store where keys are claimed
	 * @param settings how it works
	 */
	public IdempotencyTemplate(IdempotencyStore store, TemplateSettings settings) {
		this.store = store;
		this.cache = settings.cache();
		this.failOpen = settings.failOpen();
		this.listener = new IdempotencyListeners(settings.listeners());
		StoreCalls calls = new StoreCalls(store.name(), this.listener, settings.circuit(), settings.failOpen());
		this.looseEnds = new LooseEnds(calls);
		this.leases = new Leases(store, calls);
		this.leased = new LeasedProtocol(store, calls, this.cache, this.leases, this.looseEnds);
		PlatformTransactionManager manager = settings.transactionManager();
		this.transactional = (manager != null && store instanceof TransactionalIdempotencyStore transactionalStore)
				? new TransactionalProtocol(transactionalStore, calls, this.cache, manager) : null;
	}

	/**
	 * The store in use.
	 * @return the store
	 */
	public IdempotencyStore store() {
		return this.store;
	}

	/**
	 * Whether {@link Mode#TRANSACTIONAL} works.
	 * @return whether the store can join the transactions of the given manager
	 */
	public boolean supportsTransactions() {
		return this.transactional != null;
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
	public <T, E extends Throwable> Executed<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			Handler<T, E> handler) throws E {
		return execute(operation, codec, new DefaultTransactionDefinition(), handler);
	}

	/**
	 * Run an operation.
	 * @param operation the operation
	 * @param codec how the result is kept
	 * @param definition the transaction that transactional mode begins or joins
	 * @param handler what to do
	 * @param <T> the type of the result
	 * @param <E> what the handler throws
	 * @return the result, of this or of the first execution
	 * @throws E when the handler throws it
	 * @throws OperationBlockedException when the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException when it never can
	 */
	public <T, E extends Throwable> Executed<T> execute(IdempotentOperation operation, ResultCodec<T> codec,
			TransactionDefinition definition, Handler<T, E> handler) throws E {
		long start = System.nanoTime();
		Attempt<T, E> attempt = new Attempt<>(operation, handler);
		Outcome outcome = Outcome.FAILED;
		try {
			Executed<T> executed = protect(attempt, codec, definition);
			outcome = executed.duplicate() ? Outcome.DUPLICATE : Outcome.PROCESSED;
			return executed;
		}
		catch (IdempotencyStoreUnavailableException ex) {
			outcome = Outcome.UNAVAILABLE;
			if (!this.failOpen || attempt.started()) {
				throw ex;
			}
			outcome = Outcome.UNPROTECTED;
			return new Executed<>(handler.handle(), false);
		}
		catch (Throwable ex) {
			outcome = attempt.failedWith(ex) ? Outcome.FAILED : outcome(ex);
			throw ex;
		}
		finally {
			this.listener.executed(new Execution(operation.name(), operation.mode(), operation.key(), outcome,
					Duration.ofNanos(System.nanoTime() - start)));
		}
	}

	private <T, E extends Throwable> Executed<T> protect(Attempt<T, E> attempt, ResultCodec<T> codec,
			TransactionDefinition definition) throws E {
		IdempotentOperation operation = attempt.operation();
		Claim.Completed known = this.cache.find(operation.key(), operation.fingerprint());
		if (known != null) {
			return Answers.answer(operation, known, codec);
		}
		if (operation.mode() == Mode.LEASED) {
			return this.leased.execute(attempt, codec);
		}
		Assert.state(this.transactional != null,
				"The store cannot join a transaction; use leased mode or give the template a transaction manager");
		return this.transactional.execute(attempt, codec, definition);
	}

	private static Outcome outcome(Throwable error) {
		if (error instanceof OperationInProgressException) {
			return Outcome.IN_PROGRESS;
		}
		if (error instanceof OwnershipLostException) {
			return Outcome.LOST;
		}
		if (error instanceof IdempotencyRecordUnreadableException) {
			return Outcome.UNREADABLE;
		}
		return (error instanceof OperationRejectedException) ? Outcome.REJECTED : Outcome.FAILED;
	}

	/**
	 * Make up, now and whatever the circuit breaker thinks, for what the store did not
	 * take. To be called when no handler runs any more and the store still works.
	 */
	public void settle() {
		this.looseEnds.settleLast();
	}

	/**
	 * Renew no more leases, and {@link #settle() settle} a last time.
	 */
	@Override
	public void close() {
		this.leases.close();
		this.looseEnds.close();
	}

	/**
	 * What an operation does.
	 *
	 * @param <T> the type of the result
	 * @param <E> what it throws
	 */
	@FunctionalInterface
	public interface Handler<T, E extends Throwable> {

		/**
		 * Do it.
		 * @return the result
		 * @throws E when it fails
		 */
		@Nullable T handle() throws E;

	}

}
