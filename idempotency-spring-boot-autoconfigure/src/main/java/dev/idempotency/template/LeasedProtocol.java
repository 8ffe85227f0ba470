package dev.idempotency.template;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The protocol of {@link Mode#LEASED}:
 * <ol>
 * <li>claim the key; if it is not acquired, replay the result of the completed operation
 * or throw;</li>
 * <li>run the handler, while its lease is renewed;</li>
 * <li>complete with the owner token, or fail with it if the handler threw an exception:
 * at once, when an asynchronous handler has ended, or when the transaction of the caller
 * has ended. {@link ClaimAhead} may claim the key of the next operation with the
 * completion.</li>
 * </ol>
 * {@link LeasedBatch} is the same protocol for a batch.
 *
 * @param engine the engine
 * @param settlements settles the claims
 * @param asynchronous settles the claims of asynchronous handlers
 */
record LeasedProtocol(Engine engine, Settlements settlements, AsyncSettlements asynchronous) {

	<T, E extends Throwable> IdempotentResult<T> execute(Invocation<T, E> invocation, ResultCodec<T> codec,
			TransactionBoundary boundary, @Nullable ClaimAhead ahead) throws E {
		TransactionCompletions transaction = currentTransaction(boundary);
		Deferral deferral = (transaction != null) ? transaction : boundary.deferral();
		Claim.Completed known = (deferral != null) ? deferral.find(invocation.operation()) : null;
		if (known != null) {
			return this.engine.results().replay(invocation.operation(), known, codec);
		}
		try {
			return execute(invocation, codec, deferral, ahead);
		}
		catch (OperationLostException ex) {
			if (transaction != null) {
				transaction.lost(ex);
			}
			throw ex;
		}
	}

	// The transaction of the caller, unless the boundary has another deferral.
	private @Nullable TransactionCompletions currentTransaction(TransactionBoundary boundary) {
		if (boundary.deferral() != null) {
			return null;
		}
		TransactionCompletions.checkObservable();
		return TransactionCompletions.current(this.asynchronous);
	}

	private <T, E extends Throwable> IdempotentResult<T> execute(Invocation<T, E> invocation, ResultCodec<T> codec,
			@Nullable Deferral deferral, @Nullable ClaimAhead ahead) throws E {
		IdempotentOperation operation = invocation.operation();
		Claimed taken = (ahead != null) ? ahead.take(operation) : null;
		Claimed claimed = (taken != null) ? taken : claim(invocation);
		if (!(claimed.claim() instanceof Claim.Acquired acquired)) {
			return this.engine.results().replay(operation, claimed.claim(), codec);
		}
		OwnedClaim owned = this.settlements.keep(operation, claimed.request(), acquired, claimed.since());
		boolean deferred = false;
		try {
			T result = run(invocation, owned);
			owned.setResult(this.engine.results().write(operation, result, codec));
			if (deferral != null && deferral.isNeeded()) {
				if (owned.execution().ownershipLost()) {
					// The output of this execution must not be committed.
					throw Settlements.logged(owned.lost());
				}
				deferral.defer(new PendingCompletion(this.settlements, List.of(owned), invocation.deferReport()));
				deferred = true;
			}
			else if (ahead == null || deferral != null || !ahead.complete(owned, claimed)) {
				this.settlements.complete(owned);
			}
			return new IdempotentResult<>(result, false);
		}
		finally {
			if (!deferred) {
				this.settlements.leave(owned);
			}
		}
	}

	<T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(
			Invocation<CompletionStage<T>, E> invocation, ResultCodec<T> codec) throws E {
		IdempotentOperation operation = invocation.operation();
		Claimed claimed = claim(invocation);
		if (!(claimed.claim() instanceof Claim.Acquired acquired)) {
			return CompletableFuture.completedFuture(this.engine.results().replay(operation, claimed.claim(), codec));
		}
		OwnedClaim owned = this.settlements.keep(operation, claimed.request(), acquired, claimed.since());
		boolean running = false;
		try {
			CompletionStage<T> stage = Objects.requireNonNull(run(invocation, owned));
			CompletableFuture<IdempotentResult<T>> result = this.asynchronous.settle(stage, owned, codec);
			running = true;
			return result;
		}
		finally {
			if (!running) {
				this.settlements.leave(owned);
			}
		}
	}

	private Claimed claim(Invocation<?, ?> invocation) {
		IdempotentOperation operation = invocation.operation();
		ClaimRequest request = operation.newRequest();
		long start = System.nanoTime();
		this.settlements.settlePending(operation, invocation::markStarted);
		this.engine.calls().permit(operation);
		Claim claim;
		try {
			claim = this.engine.calls().call(StoreCall.CLAIM, operation, () -> this.engine.store().claim(request));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// The store may have recorded the claim although its answer is missing.
			this.settlements.releaseLater(operation, request);
			throw ex;
		}
		if (claim instanceof Claim.Completed completed) {
			this.engine.cache().add(operation, completed.result());
		}
		return new Claimed(operation, request, claim, start);
	}

	private <T, E extends Throwable> @Nullable T run(Invocation<T, E> invocation, OwnedClaim owned) throws E {
		try {
			return invocation.run(owned.execution());
		}
		catch (Throwable ex) {
			this.settlements.fail(owned, ex);
			throw ex;
		}
	}

	<T> void executeAll(BatchRun<T> run, TransactionBoundary boundary) {
		TransactionCompletions transaction = currentTransaction(boundary);
		run.replayFrom(
				(transaction != null) ? (index, operation) -> transaction.find(operation) : run.handler()::known);
		Deferral deferral = (transaction != null) ? transaction : boundary.deferral();
		new LeasedBatch<>(this.engine, this.settlements, run, deferral, boundary.deferral() != null).execute();
	}

}
