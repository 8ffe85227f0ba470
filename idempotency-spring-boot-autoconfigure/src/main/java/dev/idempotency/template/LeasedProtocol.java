package dev.idempotency.template;

import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.store.Claim;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The protocol of {@link Mode#LEASED}:
 * <ol>
 * <li>claim the keys; if one is not acquired, replay the result of its completed
 * operation, or block it;</li>
 * <li>run the handler, while the leases are renewed;</li>
 * <li>complete with the owner tokens, or fail with them if the handler threw an
 * exception: at once, when an asynchronous handler has ended, or when the transaction of
 * the caller has ended. {@link ClaimAhead} may claim the key of the next operation with
 * the completion.</li>
 * </ol>
 * {@link LeasedBatch} is one delivery.
 *
 * @param engine the engine
 * @param settlements settles the claims
 * @param asynchronous settles the claims of asynchronous handlers
 */
record LeasedProtocol(Engine engine, Settlements settlements, AsyncSettlements asynchronous) {

	<T> void execute(BatchRun<T> run, TransactionBoundary boundary, @Nullable ClaimAhead ahead, boolean isProtected) {
		if (!isProtected) {
			new LeasedBatch<>(this, run, null, false, null).execute(false);
			return;
		}
		TransactionCompletions transaction = currentTransaction(boundary);
		Deferral deferral = (transaction != null) ? transaction : boundary.deferral();
		run.replayFrom((index, operation) -> known(run.handler(), deferral, index, operation));
		new LeasedBatch<>(this, run, deferral, boundary.deferral() != null, ahead).execute(true);
	}

	private static Claim.@Nullable Completed known(BatchHandler<?> handler, @Nullable Deferral deferral, int index,
			IdempotentOperation operation) {
		Claim.Completed known = (deferral != null) ? deferral.find(operation) : null;
		return (known != null) ? known : handler.known(index, operation);
	}

	// The transaction of the caller, unless the boundary has another deferral.
	private @Nullable TransactionCompletions currentTransaction(TransactionBoundary boundary) {
		if (boundary.deferral() != null) {
			return null;
		}
		TransactionCompletions.checkObservable();
		return TransactionCompletions.current(this.asynchronous);
	}

	// Returns null if the operation is blocked or rejected, or if its handler has failed
	// before it returned a stage.
	@Nullable CompletableFuture<IdempotentResult<Object>> executeAsync(BatchRun<Object> run) {
		return new LeasedBatch<>(this, run, null, false, null).executeAsync();
	}

}
