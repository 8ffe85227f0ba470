package dev.idempotency;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.Assert;

/**
 * The protocols of both modes around one store, and the local answers before them.
 */
final class Protocols implements AutoCloseable {

	private final Bypass bypass = new Bypass();

	private final LocalCompletions cache;

	private final Leases leases;

	private final LooseEnds looseEnds;

	private final AsyncSettlements asynchronous;

	private final LeasedProtocol leased;

	private final FailureNotes notes;

	private final @Nullable TransactionalProtocol transactional;

	private final IdempotencyOperator operator;

	Protocols(IdempotencyStore store, TemplateSettings settings, IdempotencyListener listener) {
		this.cache = new LocalCompletions(settings.cache(), this.bypass);
		StoreCalls calls = new StoreCalls(store.name(), listener, settings.circuit(), settings.failOpen());
		this.looseEnds = new LooseEnds(calls, listener, Looks.threads("loose-ends"));
		this.operator = new IdempotencyOperator(store, this.cache, this.bypass, this.looseEnds, listener);
		this.leases = new Leases(store, calls, Looks.threads("leases"));
		LeasedClaims claims = new LeasedClaims(store, calls, this.cache, this.leases, this.looseEnds, this.bypass);
		this.asynchronous = new AsyncSettlements(claims, Looks.threads("settlements"));
		this.leased = new LeasedProtocol(claims, new BatchClaims(store, calls, this.looseEnds), this.asynchronous);
		this.notes = new FailureNotes(calls, Looks.threads("failure-notes"));
		PlatformTransactionManager manager = settings.transactionManager();
		this.transactional = (manager != null && store instanceof TransactionalIdempotencyStore transactionalStore)
				? new TransactionalProtocol(transactionalStore, calls, this.cache, new Transactions(calls, manager),
						this.bypass, this.notes)
				: null;
	}

	IdempotencyOperator operator() {
		return this.operator;
	}

	Bypass bypass() {
		return this.bypass;
	}

	boolean supportsTransactions() {
		return this.transactional != null;
	}

	<T, E extends Throwable> Executed<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec, Boundary boundary,
			Observed observed) throws E {
		Executed<T> known = known(attempt.operation(), codec);
		if (known != null) {
			return known;
		}
		return (attempt.operation().mode() == Mode.LEASED)
				? this.leased.execute(attempt, codec, observed.deferred(boundary.deferral()))
				: transactional().execute(attempt, codec, boundary);
	}

	<T, E extends Throwable> CompletableFuture<Executed<T>> executeAsync(Attempt<CompletionStage<T>, E> attempt,
			ResultCodec<T> codec) throws E {
		Executed<T> known = known(attempt.operation(), codec);
		return (known != null) ? CompletableFuture.completedFuture(known) : this.leased.executeAsync(attempt, codec);
	}

	private <T> @Nullable Executed<T> known(IdempotentOperation operation, ResultCodec<T> codec) {
		Claim.Completed known = this.cache.find(operation.key(), operation.fingerprint());
		return (known != null) ? Answers.answer(operation, known, codec) : null;
	}

	<T> void executeAll(BatchRun<T> run, Boundary boundary, ObservedBatch observed) {
		run.answerFrom(this.cache);
		if (observed.mode() == Mode.LEASED) {
			this.leased.executeAll(run, observed.deferred(boundary.deferral()));
		}
		else {
			transactional().executeAll(run, boundary);
		}
	}

	<T, E extends Throwable> @Nullable T executeUnprotected(Object subject, Mode mode, Boundary boundary,
			IdempotencyTemplate.Handler<T, E> handler) throws E {
		return (mode == Mode.LEASED) ? handler.handle()
				: transactional().executeUnprotected(subject, boundary, handler);
	}

	<T> void executeAllUnprotected(BatchRun<T> run, Mode mode, Boundary boundary) {
		if (mode == Mode.LEASED) {
			run.executeUnprotected();
		}
		else {
			transactional().executeAllUnprotected(run, boundary);
		}
	}

	private TransactionalProtocol transactional() {
		Assert.state(this.transactional != null,
				"The store cannot join a transaction; use leased mode or give the template a transaction manager");
		return this.transactional;
	}

	void settle() {
		this.asynchronous.settleLast();
		this.looseEnds.settleLast();
	}

	@Override
	public void close() {
		this.notes.close();
		this.leases.close();
		this.asynchronous.close();
		this.looseEnds.close();
	}

}
