package dev.idempotency.template;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * The protocol of {@link Mode#TRANSACTIONAL}:
 * <ol>
 * <li>begin, and insert the record with one statement; the row lock makes a concurrent
 * duplicate wait;</li>
 * <li>if a record exists, roll back, begin anew, and take it over or answer;</li>
 * <li>run the handler, add its result, commit: the record and the handler's writes exist
 * together or not at all;</li>
 * <li>when the handler or the commit failed, roll back and note the failure in a
 * transaction of its own. If that is impossible too, the database is down, and the record
 * comes again; if the record is found completed, the commit had succeeded after all.</li>
 * </ol>
 */
final class TransactionalProtocol {

	private final TransactionalIdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Transactions transactions;

	private final FailureNotes notes;

	private final Results results;

	TransactionalProtocol(TransactionalIdempotencyStore store, StoreCalls calls, CompletionCache cache,
			Transactions transactions, FailureNotes notes, Results results) {
		this.notes = notes;
		this.results = results;
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.transactions = transactions;
	}

	<T, E extends Throwable> IdempotentResult<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec,
			TransactionBoundary boundary) throws E {
		IdempotentOperation operation = attempt.operation();
		TransactionDefinition definition = boundary.definition();
		ClaimRequest request = operation.newRequest();
		this.calls.permit(operation);
		TransactionStatus transaction = this.transactions.begin(operation, definition);
		boolean joined = !transaction.isNewTransaction();
		Claim claim = joined ? claim(operation, request, transaction, true) : insert(operation, request, transaction);
		if (claim == null) {
			// Also gives the transaction its own lock time-out back.
			this.transactions.rollback(transaction, null);
			transaction = this.transactions.begin(operation, definition);
			claim = claim(operation, request, transaction, false);
		}
		if (claim instanceof Claim.Acquired acquired) {
			return run(attempt, codec, request, acquired, transaction, boundary);
		}
		if (!joined) {
			this.transactions.rollback(transaction, null);
			// In a joined transaction the completion itself may still be rolled back.
			if (claim instanceof Claim.Completed completed) {
				this.cache.add(operation.key(), operation.fingerprint(), completed.result(), operation.retention());
			}
		}
		return Answers.answer(operation, claim, codec);
	}

	<T, E extends Throwable> @Nullable T executeUnprotected(Object subject, TransactionBoundary boundary,
			OperationHandler<T, E> handler) throws E {
		return this.transactions.runUnprotected(subject, boundary, handler);
	}

	<T> void executeAll(BatchRun<T> run, TransactionBoundary boundary) {
		new TransactionalBatch<>(this.store, this.calls, this.cache, this.transactions, run, boundary, true).execute();
	}

	<T> void executeAllUnprotected(BatchRun<T> run, TransactionBoundary boundary) {
		new TransactionalBatch<>(this.store, this.calls, this.cache, this.transactions, run, boundary, false).execute();
	}

	private @Nullable Claim insert(IdempotentOperation operation, ClaimRequest request, TransactionStatus transaction) {
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.store.insert(request)).orElse(null);
		}
		catch (RuntimeException | Error ex) {
			this.transactions.rollback(transaction, ex);
			throw ex;
		}
	}

	private Claim claim(IdempotentOperation operation, ClaimRequest request, TransactionStatus transaction,
			boolean joined) {
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claimInTransaction(request, joined));
		}
		catch (RuntimeException | Error ex) {
			if (!joined) {
				this.transactions.rollback(transaction, ex);
			}
			throw ex;
		}
	}

	private <T, E extends Throwable> IdempotentResult<T> run(Attempt<T, E> attempt, ResultCodec<T> codec,
			ClaimRequest request, Claim.Acquired acquired, TransactionStatus transaction, TransactionBoundary boundary)
			throws E {
		IdempotentOperation operation = attempt.operation();
		T result;
		byte[] bytes;
		boolean withoutEffect;
		try {
			result = attempt.run(new ClaimedExecution(operation.key(), acquired));
			bytes = this.results.writeOrFail(operation, result, codec);
			withoutEffect = Transactions.isRollbackOnly(transaction, boundary);
			if (!withoutEffect) {
				store(operation, request, bytes);
				this.transactions.commit(transaction);
			}
		}
		catch (Throwable ex) {
			boolean inDoubt = Transactions.isInDoubt(transaction, ex);
			this.transactions.rollback(transaction, ex);
			if (transaction.isNewTransaction()) {
				noteFailure(operation, request, ex, inDoubt);
			}
			else {
				noteFailureAfterRollback(operation, request, ex);
			}
			throw ex;
		}
		if (withoutEffect) {
			this.transactions.rollback(transaction, null);
			completeWithoutEffect(operation, request, bytes, boundary.definition());
		}
		if (transaction.isNewTransaction()) {
			this.cache.add(operation.key(), operation.fingerprint(), bytes, operation.retention());
		}
		return new IdempotentResult<>(result, false);
	}

	private void store(IdempotentOperation operation, ClaimRequest request, byte @Nullable [] result) {
		if (result != null) {
			this.calls.call(StoreCall.COMPLETE, operation, () -> {
				this.store.storeResult(request, result);
				return Settlement.SETTLED;
			});
		}
	}

	// The handler had its writes rolled back, and returned: the operation is done.
	private void completeWithoutEffect(IdempotentOperation operation, ClaimRequest request, byte @Nullable [] result,
			TransactionDefinition definition) {
		TransactionStatus transaction = this.transactions.begin(operation, definition);
		Claim claim = claim(operation, request, transaction, false);
		if (!(claim instanceof Claim.Acquired)) {
			this.transactions.rollback(transaction, null);
			throw Transactions.lost(false, operation, null);
		}
		try {
			store(operation, request, result);
		}
		catch (RuntimeException | Error ex) {
			this.transactions.rollback(transaction, ex);
			throw ex;
		}
		this.transactions.commitWithoutEffect(transaction, operation);
	}

	private void noteFailure(IdempotentOperation operation, ClaimRequest request, Throwable error, boolean inDoubt) {
		Failure failure = Failure.of(error);
		try {
			Settlement noted = this.calls.settle(StoreCall.FAIL, operation,
					() -> this.store.noteFailure(request, failure));
			if (noted == Settlement.SETTLED) {
				return;
			}
		}
		catch (OperationBlockedException ex) {
			ex.addSuppressed(error);
			throw ex;
		}
		throw Transactions.lost(inDoubt, operation, error);
	}

	// The transaction of the caller still holds its connection and its lock on the
	// record, also in afterCompletion. A note on this thread would wait for a second
	// connection, and with a pool of one for ever.
	private void noteFailureAfterRollback(IdempotentOperation operation, ClaimRequest request, Throwable error) {
		if (!TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		Failure failure = Failure.of(error);
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCompletion(int status) {
				if (status == STATUS_ROLLED_BACK) {
					TransactionalProtocol.this.notes.add(operation,
							() -> TransactionalProtocol.this.store.noteFailure(request, failure));
				}
			}

		});
	}

}
