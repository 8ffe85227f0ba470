package dev.idempotency.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * Begins the transaction of a batch, and claims in it what is not known yet.
 */
final class TransactionalBatchClaims {

	private static final String JOINED = "A batch cannot join a transaction: it needs one that it may roll back";

	private final TransactionalIdempotencyStore store;

	private final StoreCalls calls;

	private final Transactions transactions;

	private final BatchRun<?> run;

	private final BatchPlan<?> plan;

	private final TransactionDefinition definition;

	// Without, nothing is claimed: the store is unavailable, and the handler runs all the
	// same.
	private final boolean isProtected;

	private final Map<Integer, ClaimRequest> requests = new LinkedHashMap<>();

	TransactionalBatchClaims(TransactionalIdempotencyStore store, StoreCalls calls, Transactions transactions,
			BatchRun<?> run, TransactionBoundary boundary, boolean isProtected) {
		this.store = store;
		this.calls = calls;
		this.transactions = transactions;
		this.run = run;
		this.plan = run.plan();
		this.definition = boundary.definition();
		this.isProtected = isProtected;
	}

	ClaimRequest request(int index) {
		return Objects.requireNonNull(this.requests.get(index));
	}

	/**
	 * Begin a transaction and claim.
	 * @return the transaction, which has to be ended
	 */
	TransactionStatus claim() {
		List<Integer> asked = this.isProtected ? this.plan.unanswered() : List.of();
		Object subject = this.run.subject(this.plan.due());
		if (asked.isEmpty()) {
			TransactionStatus transaction = this.transactions.beginUnprotected(subject, this.definition);
			Assert.state(transaction.isNewTransaction(), JOINED);
			return transaction;
		}
		this.calls.permit(subject);
		return claim(asked, begin(subject));
	}

	private TransactionStatus begin(Object subject) {
		TransactionStatus transaction = this.transactions.begin(subject, this.definition);
		if (!transaction.isNewTransaction()) {
			this.calls.release();
			throw new IllegalStateException(JOINED);
		}
		return transaction;
	}

	private TransactionStatus claim(List<Integer> asked, TransactionStatus transaction) {
		this.requests.clear();
		asked.forEach((i) -> this.requests.put(i, this.plan.part(i).operation().newRequest()));
		TransactionStatus current = transaction;
		try {
			try {
				List<Claim> answers = this.calls.call(StoreCall.CLAIM, this.run.subject(asked),
						() -> this.store.claimAllInTransaction(List.copyOf(this.requests.values()), false));
				for (int i = 0; i < answers.size(); i++) {
					this.plan.part(asked.get(i)).answer(answers.get(i));
				}
			}
			catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
				this.transactions.rollback(current, ex);
				current = begin(this.run.subject(asked));
				this.requests.forEach(this::claimOne);
			}
			return current;
		}
		catch (RuntimeException | Error ex) {
			this.transactions.rollback(current, ex);
			throw ex;
		}
	}

	// A concurrent transaction holds one of the keys, or the store refuses one, and
	// cannot say which. Only that part and the later ones of its lane have to wait.
	private void claimOne(int index, ClaimRequest request) {
		BatchPart part = this.plan.part(index);
		if (this.plan.isBehind(index)) {
			return;
		}
		try {
			part.answer(this.calls.call(StoreCall.CLAIM, part.operation(),
					() -> this.store.claimInTransaction(request, true)));
		}
		catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
			part.block(ex);
		}
	}

}
