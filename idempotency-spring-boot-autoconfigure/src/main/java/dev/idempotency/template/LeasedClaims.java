package dev.idempotency.template;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * Claims the keys of leased mode, of a batch with one call. What becomes of a claim is up
 * to {@link Settlements}.
 */
final class LeasedClaims {

	private static final Log logger = LogFactory.getLog(LeasedClaims.class);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Settlements settlements;

	LeasedClaims(IdempotencyStore store, StoreCalls calls, CompletionCache cache, Settlements settlements) {
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.settlements = settlements;
	}

	/**
	 * Claim the key of an attempt, after settling what is pending of earlier ones.
	 * @param attempt the attempt
	 * @param request the request
	 * @return the answer
	 */
	Claim claim(Attempt<?, ?> attempt, ClaimRequest request) {
		IdempotentOperation operation = attempt.operation();
		this.settlements.settlePending(operation, attempt::hasRun);
		this.calls.permit(operation);
		Claim claim = claimed(operation, request);
		if (claim instanceof Claim.Completed completed) {
			cache(operation, completed);
		}
		return claim;
	}

	private Claim claimed(IdempotentOperation operation, ClaimRequest request) {
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// It may have been made all the same.
			this.settlements.releaseLater(operation, request);
			throw ex;
		}
	}

	private void cache(IdempotentOperation operation, Claim.Completed completed) {
		this.cache.add(operation.key(), operation.fingerprint(), completed.result(), operation.retention());
	}

	/**
	 * Claim the keys of a batch, after settling what is pending of earlier deliveries.
	 * @param run the delivery, which gets the answers
	 * @param requests the requests by the index of their part
	 * @throws IdempotencyStoreUnavailableException if the store does not answer
	 */
	void claimAll(BatchRun<?> run, Map<Integer, ClaimRequest> requests) {
		BatchPlan<?> plan = run.plan();
		settlePending(run, requests);
		if (requests.isEmpty()) {
			return;
		}
		Object subject = run.subject(List.copyOf(requests.keySet()));
		this.calls.permit(subject);
		try {
			ask(plan, requests, subject);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// They may have been made all the same.
			requests.forEach((index, request) -> this.settlements.releaseLater(plan.part(index).operation(), request));
			throw ex;
		}
		requests.keySet().forEach((index) -> {
			if (plan.part(index).claim() instanceof Claim.Completed completed) {
				cache(plan.part(index).operation(), completed);
			}
		});
	}

	private void ask(BatchPlan<?> plan, Map<Integer, ClaimRequest> requests, Object subject) {
		List<Claim> answers;
		try {
			answers = this.calls.call(StoreCall.CLAIM, subject,
					() -> this.store.claimAll(List.copyOf(requests.values())));
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException ex) {
			claimEach(plan, requests)
				.forEach((index, request) -> this.settlements.releaseLater(plan.part(index).operation(), request));
			return;
		}
		catch (IdempotencyStoreRefusedException ex) {
			release(claimEach(plan, requests).values(), subject);
			return;
		}
		int position = 0;
		for (int index : requests.keySet()) {
			plan.part(index).answer(answers.get(position++));
		}
	}

	private void settlePending(BatchRun<?> run, Map<Integer, ClaimRequest> requests) {
		if (this.settlements.isEmpty()) {
			return;
		}
		requests.keySet().removeIf((index) -> {
			BatchPart part = run.plan().part(index);
			try {
				this.settlements.settlePending(part.operation(), run::hasRun);
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

	// A concurrent transaction holds one of the keys, or the store refuses one, and
	// cannot say which. Only that part and the later ones of its lane have to wait.
	// Returned are the later ones, which the batch may have claimed.
	private Map<Integer, ClaimRequest> claimEach(BatchPlan<?> plan, Map<Integer, ClaimRequest> requests) {
		Map<Integer, ClaimRequest> behind = new LinkedHashMap<>();
		requests.forEach((index, request) -> {
			IdempotentOperation operation = plan.part(index).operation();
			if (plan.isBehind(index)) {
				behind.put(index, request);
				plan.part(index).leaveOut(null);
				return;
			}
			try {
				this.calls.permit(operation);
				plan.part(index).answer(this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request)));
			}
			catch (OperationInProgressException | IdempotencyRecordUnreadableException
					| IdempotencyStoreRefusedException ex) {
				plan.part(index).block(ex);
			}
		});
		return behind;
	}

	// Once only: a store that refuses that as well may do so for hours.
	private void release(Collection<ClaimRequest> claims, Object subject) {
		if (claims.isEmpty()) {
			return;
		}
		try {
			this.calls.call(StoreCall.RELEASE, subject, () -> this.store.releaseAll(List.copyOf(claims)));
		}
		catch (OperationBlockedException ex) {
			logger.debug("Those that were claimed are free when their leases have expired", ex);
		}
	}

}
