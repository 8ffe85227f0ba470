package dev.idempotency;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Makes and settles the claims of a batch in leased mode, each with one call of the
 * store.
 */
final class BatchClaims {

	private static final Log logger = LogFactory.getLog(BatchClaims.class);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final LooseEnds looseEnds;

	BatchClaims(IdempotencyStore store, StoreCalls calls, LooseEnds looseEnds) {
		this.store = store;
		this.calls = calls;
		this.looseEnds = looseEnds;
	}

	/**
	 * Claim keys, after making up for what is left of earlier deliveries.
	 * @param run the delivery, which gets the answers
	 * @param requests the requests by the index of their part
	 * @throws IdempotencyStoreUnavailableException if the store does not answer
	 */
	void claim(BatchRun<?> run, Map<Integer, ClaimRequest> requests) {
		BatchPlan<?> plan = run.plan();
		settleLooseEnds(run, requests);
		if (requests.isEmpty()) {
			return;
		}
		Object subject = run.subject(List.copyOf(requests.keySet()));
		this.calls.permit(subject);
		try {
			List<Claim> answers;
			try {
				answers = this.calls.call(StoreCall.CLAIM, subject,
						() -> this.store.claimAll(List.copyOf(requests.values())));
			}
			catch (OperationInProgressException | IdempotencyRecordUnreadableException ex) {
				claimEach(plan, requests);
				return;
			}
			int position = 0;
			for (int index : requests.keySet()) {
				plan.part(index).answer(answers.get(position++));
			}
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// They may have been made all the same.
			requests.forEach((index, request) -> this.looseEnds.add(StoreCall.RELEASE, plan.part(index).operation(),
					request.token(), () -> this.store.release(request)));
			throw ex;
		}
	}

	private void settleLooseEnds(BatchRun<?> run, Map<Integer, ClaimRequest> requests) {
		if (this.looseEnds.isEmpty()) {
			return;
		}
		requests.keySet().removeIf((index) -> {
			BatchPart part = run.plan().part(index);
			try {
				this.looseEnds.settle(part.operation(), () -> {
					run.hasRun();
					part.hasRun();
				});
				return false;
			}
			catch (IdempotencyStoreUnavailableException ex) {
				throw ex;
			}
			catch (OperationBlockedException ex) {
				part.block(ex);
				return true;
			}
		});
	}

	// Somebody's key is in the way, and the store cannot say whose: only that part and
	// what comes after it in its lane have to wait.
	private void claimEach(BatchPlan<?> plan, Map<Integer, ClaimRequest> requests) {
		requests.forEach((index, request) -> {
			if (plan.isBehind(index)) {
				// The call before may have claimed it.
				this.looseEnds.add(StoreCall.RELEASE, plan.part(index).operation(), request.token(),
						() -> this.store.release(request));
				plan.part(index).leaveOut(null);
				return;
			}
			IdempotentOperation operation = plan.part(index).operation();
			try {
				this.calls.permit(operation);
				plan.part(index).answer(this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request)));
			}
			catch (OperationInProgressException | IdempotencyRecordUnreadableException ex) {
				plan.part(index).block(ex);
			}
		});
	}

	/**
	 * Record completions.
	 * @param subject what it is about
	 * @param claims the claims
	 * @param completions their results
	 * @return for each whether the key was still the caller's
	 * @throws OperationBlockedException if the store did not take them yet
	 */
	List<Settlement> complete(Object subject, List<OwnedClaim> claims, List<Completion> completions) {
		try {
			return settle(StoreCall.COMPLETE, subject, () -> this.store.completeAll(completions));
		}
		catch (OperationBlockedException | Error ex) {
			for (int i = 0; i < claims.size(); i++) {
				Completion completion = completions.get(i);
				this.looseEnds.add(StoreCall.COMPLETE, claims.get(i).operation(), completion.claim().token(),
						() -> this.store.complete(completion.claim(), completion.result()));
			}
			logger.error("The handler has run, but its completion could not be recorded: " + subject
					+ "; that will be repeated until it is. If this process ends first, the handler runs once more after "
					+ "the leases", ex);
			throw ex;
		}
	}

	List<Settlement> fail(Object subject, List<OwnedClaim> claims, Throwable error) {
		Failure failure = Failure.of(error);
		return giveUp(StoreCall.FAIL, subject, claims, (requests) -> this.store.failAll(requests, failure),
				(request) -> this.store.fail(request, failure));
	}

	void release(Object subject, List<OwnedClaim> claims) {
		giveUp(StoreCall.RELEASE, subject, claims, this.store::releaseAll, this.store::release);
	}

	private List<Settlement> giveUp(StoreCall call, Object subject, List<OwnedClaim> claims,
			Function<List<ClaimRequest>, List<Settlement>> all, Function<ClaimRequest, Settlement> one) {
		List<ClaimRequest> requests = claims.stream().map(OwnedClaim::request).toList();
		try {
			return settle(call, subject, () -> all.apply(requests));
		}
		catch (OperationBlockedException ex) {
			makeUpFor(call, claims, one);
			logger.warn("What became of " + subject + " could not be recorded; that will be repeated until it is, or "
					+ "the claims have run out", ex);
			return claims.stream().map((claim) -> Settlement.SETTLED).toList();
		}
		catch (Error ex) {
			makeUpFor(call, claims, one);
			throw ex;
		}
	}

	private void makeUpFor(StoreCall call, List<OwnedClaim> claims, Function<ClaimRequest, Settlement> one) {
		claims.forEach((claim) -> this.looseEnds.add(call, claim.operation(), claim.request().token(),
				() -> one.apply(claim.request())));
	}

	private List<Settlement> settle(StoreCall call, Object subject, Supplier<List<Settlement>> settlement) {
		return this.calls.settle(call, subject, settlement);
	}

}
