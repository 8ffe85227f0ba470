package dev.idempotency;

import java.util.function.Consumer;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Makes, keeps and settles the claims of leased mode. What the store does not take is
 * remembered in memory, see {@link LooseEnds}.
 */
final class LeasedClaims {

	private static final Log logger = LogFactory.getLog(LeasedClaims.class);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Leases leases;

	private final LooseEnds looseEnds;

	private final Bypass bypass;

	LeasedClaims(IdempotencyStore store, StoreCalls calls, CompletionCache cache, Leases leases, LooseEnds looseEnds,
			Bypass bypass) {
		this.bypass = bypass;
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.leases = leases;
		this.looseEnds = looseEnds;
	}

	/**
	 * Claim the key of an attempt, after making up for what is left of earlier ones.
	 * @param attempt the attempt
	 * @param request the request
	 * @return the answer
	 */
	Claim claim(Attempt<?, ?> attempt, ClaimRequest request) {
		IdempotentOperation operation = attempt.operation();
		this.looseEnds.settle(operation, attempt::hasRun);
		this.calls.permit(operation);
		Claim claim = claimed(operation, request);
		if (claim instanceof Claim.Completed completed) {
			this.cache.add(operation.key(), operation.fingerprint(), completed.result(), operation.retention());
		}
		return claim;
	}

	private Claim claimed(IdempotentOperation operation, ClaimRequest request) {
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// It may have been made all the same.
			this.looseEnds.add(StoreCall.RELEASE, operation, request.token(), () -> this.store.release(request));
			throw ex;
		}
	}

	/**
	 * Look up the execution that has completed, if its operation is to be processed
	 * again.
	 * @param attempt the attempt; one whose own completion has just been made up for is
	 * not processed again
	 * @param claim what the store has answered
	 * @return the execution, {@code null} if the operation is not to be processed again
	 */
	@Nullable IdempotentExecution bypass(Attempt<?, ?> attempt, Claim claim) {
		IdempotentOperation operation = attempt.operation();
		return (!attempt.started() && this.bypass.applies(claim, operation.key()))
				? IdempotentExecution.again(operation, this.store, this.calls) : null;
	}

	/**
	 * Keep the lease of a claim until it is settled.
	 * @param operation what was claimed
	 * @param request the request
	 * @param acquired the answer
	 * @param since when the claim was made, by {@link System#nanoTime()}
	 * @return the claim, to be settled and {@link #forget forgotten}
	 */
	OwnedClaim keep(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long since) {
		IdempotentExecution execution = new IdempotentExecution(operation.key(), acquired);
		this.leases.keep(request, execution, since);
		return new OwnedClaim(operation, request, execution);
	}

	void settling(OwnedClaim claim) {
		this.leases.settling(claim.request());
	}

	void forget(OwnedClaim claim) {
		this.leases.release(claim.request());
	}

	/**
	 * Record a completion.
	 * @param claim the claim
	 * @param result its result
	 * @param madeUpFor told what came of it if the store takes it only later
	 * @throws OwnershipLostException if somebody else has the key
	 * @throws OperationBlockedException if the store did not take it yet
	 */
	void complete(OwnedClaim claim, byte @Nullable [] result, Consumer<Settlement> madeUpFor) {
		IdempotentOperation operation = claim.operation();
		settling(claim);
		Settlement settlement;
		try {
			settlement = this.calls.settle(StoreCall.COMPLETE, operation,
					() -> this.store.complete(claim.request(), result));
		}
		catch (OperationBlockedException | Error ex) {
			this.looseEnds.add(StoreCall.COMPLETE, operation, claim.request().token(),
					() -> this.store.complete(claim.request(), result), madeUpFor);
			logger.error("The handler has run, but its completion could not be recorded: " + operation
					+ "; that will be repeated until it is. If this process ends first, the handler runs once more "
					+ "after the lease of " + operation.lease(), ex);
			throw ex;
		}
		if (settlement != Settlement.SETTLED) {
			throw told(claim.lost());
		}
		completed(operation, result);
	}

	void completed(IdempotentOperation operation, byte @Nullable [] result) {
		this.cache.add(operation.key(), operation.fingerprint(), result, operation.retention());
	}

	/**
	 * Record a failure.
	 * @param claim the claim
	 * @param error why the handler failed
	 * @throws OwnershipLostException if somebody else has the key
	 */
	void fail(OwnedClaim claim, Throwable error) {
		Failure failure = Failure.of(error);
		if (settle(StoreCall.FAIL, claim, () -> this.store.fail(claim.request(), failure)) != Settlement.SETTLED) {
			throw told(claim.lost(error));
		}
	}

	/**
	 * Give a key back. That somebody else has it by now is no matter.
	 * @param claim the claim
	 */
	void release(OwnedClaim claim) {
		settle(StoreCall.RELEASE, claim, () -> this.store.release(claim.request()));
	}

	private Settlement settle(StoreCall call, OwnedClaim claim, Supplier<Settlement> settlement) {
		settling(claim);
		try {
			return this.calls.settle(call, claim.operation(), settlement);
		}
		catch (OperationBlockedException ex) {
			this.looseEnds.add(call, claim.operation(), claim.request().token(), settlement);
			logger.warn("A failure could not be recorded; that will be repeated until it is, or the claim has run out: "
					+ claim.operation(), ex);
			return Settlement.SETTLED;
		}
		catch (Error ex) {
			this.looseEnds.add(call, claim.operation(), claim.request().token(), settlement);
			throw ex;
		}
	}

	static OwnershipLostException told(OwnershipLostException lost) {
		logger.error(lost.getMessage());
		return lost;
	}

	static <T> byte @Nullable [] write(IdempotentOperation operation, @Nullable T result, ResultCodec<T> codec) {
		try {
			return codec.write(result);
		}
		catch (RuntimeException | LinkageError | StackOverflowError ex) {
			// The effect has happened: completing without a result beats running it
			// again.
			logger.error("The result cannot be stored, so duplicates will get none: " + operation
					+ "; make the result type serialisable", ex);
			return null;
		}
	}

}
