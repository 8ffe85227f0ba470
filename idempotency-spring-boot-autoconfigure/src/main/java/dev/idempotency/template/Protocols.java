package dev.idempotency.template;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.Assert;

import dev.idempotency.Mode;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * The protocols of both modes around one store, and the local answers before them.
 */
final class Protocols implements AutoCloseable {

	private final Results results = new Results();

	private final LocalCompletions cache;

	private final Leases leases;

	private final Settlements settlements;

	private final AsyncSettlements asynchronous;

	private final LeasedProtocol leased;

	private final FailureNotes notes;

	private final @Nullable TransactionalProtocol transactional;

	private final IdempotencyAdmin admin;

	private final boolean leasesSupported;

	Protocols(IdempotencyStore store, TemplateSettings settings, IdempotencyListener listener) {
		this.cache = new LocalCompletions(settings.cache());
		this.leasesSupported = store.supportsLeases();
		StoreCalls calls = new StoreCalls(store.name(), listener, settings.circuit(), settings.failOpen());
		this.leases = new Leases(store, calls, Looks.threads("leases"));
		this.settlements = new Settlements(store, calls, this.cache, this.leases, listener, Looks.threads("pending"));
		this.admin = new IdempotencyAdmin(store, this.cache, this.settlements, listener);
		this.asynchronous = new AsyncSettlements(this.settlements, this.results, Looks.threads("settlements"),
				Looks.threads("answers"));
		LeasedClaims claims = new LeasedClaims(store, calls, this.cache, this.settlements);
		this.leased = new LeasedProtocol(claims, this.settlements, this.asynchronous, this.results);
		this.notes = new FailureNotes(calls, Looks.threads("failure-notes"));
		PlatformTransactionManager manager = settings.transactionManager();
		this.transactional = (manager != null && store instanceof TransactionalIdempotencyStore transactionalStore)
				? new TransactionalProtocol(transactionalStore, calls, this.cache,
						new Transactions(calls, transactionalStore, manager), this.notes, this.results)
				: null;
	}

	IdempotencyAdmin admin() {
		return this.admin;
	}

	Results results() {
		return this.results;
	}

	boolean supportsLeases() {
		return this.leasesSupported;
	}

	boolean supportsTransactions() {
		return this.transactional != null;
	}

	<T, E extends Throwable> IdempotentResult<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec,
			TransactionBoundary boundary, Observed observed) throws E {
		IdempotentResult<T> known = known(attempt.operation(), codec);
		if (known != null) {
			return known;
		}
		return (attempt.operation().mode() == Mode.LEASED) ? executeLeased(attempt, codec, boundary, observed)
				: transactional().execute(attempt, codec, boundary);
	}

	private <T, E extends Throwable> IdempotentResult<T> executeLeased(Attempt<T, E> attempt, ResultCodec<T> codec,
			TransactionBoundary boundary, Observed observed) throws E {
		TransactionCompletions transaction = transaction(boundary);
		if (transaction == null) {
			return leased().execute(attempt, codec, observed.deferred(boundary.deferral()));
		}
		IdempotentOperation operation = attempt.operation();
		Claim.Completed known = transaction.find(operation.key(), operation.fingerprint());
		if (known != null) {
			return Answers.answer(operation, known, codec);
		}
		try {
			return leased().execute(attempt, codec, observed.deferred(transaction::add));
		}
		catch (OwnershipLostException ex) {
			transaction.lost(ex);
			throw ex;
		}
	}

	// The transaction of the caller, unless the boundary names another one.
	private @Nullable TransactionCompletions transaction(TransactionBoundary boundary) {
		if (boundary.deferral() != null) {
			return null;
		}
		TransactionCompletions.checkObservable();
		return TransactionCompletions.current(this.asynchronous);
	}

	<T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(Attempt<CompletionStage<T>, E> attempt,
			ResultCodec<T> codec) throws E {
		Assert.state(!TransactionCompletions.isTransactionActive(),
				"An asynchronous operation cannot wait for the transaction that is active on this thread; call it "
						+ "outside of the transaction, or after its commit");
		TransactionCompletions.checkObservable();
		IdempotentResult<T> known = known(attempt.operation(), codec);
		return (known != null) ? CompletableFuture.completedFuture(known) : leased().executeAsync(attempt, codec);
	}

	<T> CompletableFuture<IdempotentResult<T>> untilCompleted(CompletableFuture<IdempotentResult<T>> first,
			AsyncSettlements.Again<T> again) {
		return this.asynchronous.untilCompleted(first, again);
	}

	private <T> @Nullable IdempotentResult<T> known(IdempotentOperation operation, ResultCodec<T> codec) {
		Claim.Completed known = this.cache.find(operation.key(), operation.fingerprint());
		return (known != null) ? Answers.answer(operation, known, codec) : null;
	}

	<T> void executeAll(BatchRun<T> run, TransactionBoundary boundary, ObservedBatch observed) {
		run.answerFrom(this.cache::find);
		if (observed.mode() == Mode.LEASED) {
			TransactionCompletions transaction = transaction(boundary);
			if (transaction != null) {
				run.answerFrom(transaction::find);
				leased().executeAll(run, observed.deferred(transaction::add), observed, false);
			}
			else {
				run.answerFromHandler();
				leased().executeAll(run, observed.deferred(boundary.deferral()), observed, boundary.deferral() != null);
			}
		}
		else {
			transactional().executeAll(run, boundary);
		}
	}

	<T, E extends Throwable> @Nullable T executeUnprotected(Object subject, Mode mode, TransactionBoundary boundary,
			OperationHandler<T, E> handler) throws E {
		return (mode == Mode.LEASED) ? handler.handle()
				: transactional().executeUnprotected(subject, boundary, handler);
	}

	<T> void executeAllUnprotected(BatchRun<T> run, Mode mode, TransactionBoundary boundary) {
		if (mode == Mode.LEASED) {
			run.executeUnprotected();
		}
		else {
			transactional().executeAllUnprotected(run, boundary);
		}
	}

	private LeasedProtocol leased() {
		Assert.state(this.leasesSupported,
				"Which database the store reaches depends on the thread; give it a DataSource that always leads to the same "
						+ "database, or use transactional mode");
		return this.leased;
	}

	private TransactionalProtocol transactional() {
		Assert.state(this.transactional != null,
				"The store cannot join a transaction; use leased mode or give the template a transaction manager");
		return this.transactional;
	}

	void settle() {
		this.asynchronous.settleLast();
		this.settlements.settleLast();
	}

	@Override
	public void close() {
		this.notes.close();
		this.asynchronous.close();
		this.settlements.close();
		// Leases are needed until everything is settled.
		this.leases.close();
	}

}
