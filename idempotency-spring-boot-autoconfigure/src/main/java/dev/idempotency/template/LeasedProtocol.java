package dev.idempotency.template;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The protocol of {@link Mode#LEASED}:
 * <ol>
 * <li>claim the key; whoever does not get it answers as a duplicate or comes again;</li>
 * <li>run the handler, while its lease is renewed;</li>
 * <li>complete with the owner token, or fail with it when the handler threw: at once,
 * when the signal of an asynchronous handler arrives, or when the transaction of the
 * caller has ended.</li>
 * </ol>
 */
final class LeasedProtocol {

	private final LeasedClaims claims;

	private final Settlements settlements;

	private final AsyncSettlements asynchronous;

	private final Results results;

	LeasedProtocol(LeasedClaims claims, Settlements settlements, AsyncSettlements asynchronous, Results results) {
		this.claims = claims;
		this.settlements = settlements;
		this.asynchronous = asynchronous;
		this.results = results;
	}

	<T, E extends Throwable> IdempotentResult<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec,
			@Nullable Deferral deferral) throws E {
		IdempotentOperation operation = attempt.operation();
		ClaimRequest request = operation.newRequest();
		long start = System.nanoTime();
		Claim claim = this.claims.claim(attempt, request);
		if (!(claim instanceof Claim.Acquired acquired)) {
			return Answers.answer(operation, claim, codec);
		}
		OwnedClaim owned = this.settlements.keep(operation, request, acquired, start);
		boolean deferred = false;
		try {
			T result = run(attempt, owned);
			byte[] bytes = this.results.write(operation, result, codec);
			if (deferral != null && deferral.isNeeded()) {
				if (owned.execution().ownershipLost()) {
					// Its output must not be committed.
					throw Settlements.logged(owned.lost());
				}
				deferral
					.defer(new DeferredCompletion(this.settlements, List.of(owned), Collections.singletonList(bytes)));
				deferred = true;
			}
			else {
				this.settlements.complete(owned, bytes);
			}
			return new IdempotentResult<>(result, false);
		}
		finally {
			if (!deferred) {
				this.settlements.leave(owned);
			}
		}
	}

	<T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(Attempt<CompletionStage<T>, E> attempt,
			ResultCodec<T> codec) throws E {
		IdempotentOperation operation = attempt.operation();
		ClaimRequest request = operation.newRequest();
		long start = System.nanoTime();
		Claim claim = this.claims.claim(attempt, request);
		if (!(claim instanceof Claim.Acquired acquired)) {
			return CompletableFuture.completedFuture(Answers.answer(operation, claim, codec));
		}
		OwnedClaim owned = this.settlements.keep(operation, request, acquired, start);
		boolean running = false;
		try {
			CompletionStage<T> stage = run(attempt, owned);
			CompletableFuture<IdempotentResult<T>> answer = this.asynchronous
				.settle((stage != null) ? stage : CompletableFuture.completedFuture(null), owned, codec);
			running = true;
			return answer;
		}
		finally {
			if (!running) {
				this.settlements.leave(owned);
			}
		}
	}

	<T> void executeAll(BatchRun<T> run, @Nullable Deferral deferral, ObservedBatch observed, boolean asWhole) {
		new LeasedBatch<>(this.claims, this.settlements, run, deferral, observed, asWhole).execute();
	}

	private <T, E extends Throwable> @Nullable T run(Attempt<T, E> attempt, OwnedClaim owned) throws E {
		try {
			return attempt.run(owned.execution());
		}
		catch (Throwable ex) {
			this.settlements.fail(owned, ex);
			throw ex;
		}
	}

}
