package dev.idempotency.template;

import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.BooleanSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The protocol of {@link Mode#TRANSACTIONAL}:
 * <ol>
 * <li>begin a transaction, and insert the record with one statement. The row lock makes a
 * concurrent duplicate wait;</li>
 * <li>if a record exists, roll back, begin a new transaction, and take the record over or
 * replay its result;</li>
 * <li>run the handler, add its result, commit: the record and the handler's writes are
 * stored together or not at all;</li>
 * <li>if the handler or the commit failed, roll back and note the failure in a separate
 * transaction. If that fails too, the database is down, and the record is redelivered. If
 * the record is found completed, the commit had succeeded, or the handler has committed
 * the transaction itself: then the completion is undone.</li>
 * </ol>
 * {@link TransactionalBatch} is the same protocol for a batch. An operation that is
 * recognized by its offset has a mark instead of a record, see {@link OffsetClaims}.
 *
 * @param engine the parts of the template
 * @param store the store
 * @param transactions begins and ends transactions
 * @param offsets the claims of operations with offsets
 * @param settlements settles claims of leased mode
 * @param asynchronous settles after the transaction of the caller
 */
record TransactionalProtocol(Engine engine, TransactionalIdempotencyStore store, Transactions transactions,
		OffsetClaims offsets, Settlements settlements, AsyncSettlements asynchronous) {

	private static final Log logger = LogFactory.getLog(TransactionalProtocol.class);

	<T, E extends Throwable> IdempotentResult<T> execute(Invocation<T, E> invocation, ResultCodec<T> codec,
			TransactionBoundary boundary) throws E {
		IdempotentOperation operation = invocation.operation();
		// A claim in an earlier transaction of the caller may have to be undone first.
		this.settlements.awaitQueued(operation.key());
		if (operation.position() != null) {
			return execute(invocation, codec, operation.position(), boundary);
		}
		TransactionDefinition definition = boundary.definition();
		ClaimRequest request = operation.newRequest();
		TransactionStatus transaction = this.transactions.beginFirst(operation, definition);
		boolean joined = !transaction.isNewTransaction();
		// A key with versions has a record as a rule.
		Claim claim;
		try {
			claim = (joined || request.version() != null) ? claim(operation, request, joined)
					: this.engine.calls()
						.call(StoreCall.CLAIM, operation, () -> this.store.insert(request))
						.orElse(null);
			if (claim == null) {
				// The rollback also restores the lock timeout of the transaction.
				this.transactions.rollback(transaction, null);
				transaction = this.transactions.begin(operation, definition);
				claim = claim(operation, request, false);
			}
		}
		catch (RuntimeException | Error ex) {
			this.transactions.rollbackOwn(transaction, ex);
			throw ex;
		}
		if (claim instanceof Claim.Acquired acquired) {
			return run(invocation, codec, request, null, acquired, transaction, boundary);
		}
		if (!joined) {
			this.transactions.rollback(transaction, null);
			// In a joined transaction the completion itself may still be rolled back.
			if (claim instanceof Claim.Completed completed) {
				this.engine.cache().add(operation, completed.result());
			}
		}
		return this.engine.results().replay(operation, claim, codec);
	}

	private Claim claim(IdempotentOperation operation, ClaimRequest request, boolean joined) {
		return this.engine.calls()
			.call(StoreCall.CLAIM, operation, () -> this.store.claimInTransaction(request, joined));
	}

	private <T, E extends Throwable> IdempotentResult<T> execute(Invocation<T, E> invocation, ResultCodec<T> codec,
			OffsetPosition position, TransactionBoundary boundary) throws E {
		IdempotentOperation operation = invocation.operation();
		this.offsets.requireSupported();
		OffsetMark mark = position.mark(operation.key().scope(), UUID.randomUUID());
		TransactionStatus transaction = this.transactions.beginFirst(operation, boundary.definition());
		boolean joined = !transaction.isNewTransaction();
		long previous = this.transactions.orRollback(transaction, () -> this.offsets.raise(operation, mark, joined));
		if (previous < mark.offset()) {
			return run(invocation, codec, null, mark, OffsetClaims.ACQUIRED, transaction, boundary);
		}
		if (!joined) {
			this.transactions.rollback(transaction, null);
		}
		this.offsets.skip(position, mark, previous);
		return new IdempotentResult<>(null, true);
	}

	// The transaction has the record of the request or, for an operation that is
	// recognized by its offset, the mark.
	private <T, E extends Throwable> IdempotentResult<T> run(Invocation<T, E> invocation, ResultCodec<T> codec,
			@Nullable ClaimRequest request, @Nullable OffsetMark mark, Claim.Acquired acquired,
			TransactionStatus transaction, TransactionBoundary boundary) throws E {
		IdempotentOperation operation = invocation.operation();
		List<ClaimRequest> claims = (request != null) ? List.of(request) : List.of();
		List<OffsetMark> marks = (mark != null) ? List.of(mark) : List.of();
		T result;
		byte[] bytes;
		boolean withoutEffect;
		try {
			result = invocation.run(new ClaimedExecution(operation.key(), acquired));
			bytes = (request != null) ? this.engine.results().write(operation, result, codec) : null;
			withoutEffect = Transactions.isRollbackOnly(transaction, boundary)
					|| (result instanceof Declined && transaction.isNewTransaction());
			if (!withoutEffect) {
				this.transactions.commit(transaction, operation, () -> store(operation, request, bytes));
			}
		}
		catch (Throwable ex) {
			boolean inDoubt = Transactions.isInDoubt(transaction, ex);
			this.transactions.rollback(transaction, ex);
			if (transaction.isNewTransaction()) {
				failed(operation, claims, marks, ex, inDoubt);
			}
			else {
				settleAfterRollback(operation, claims, marks, ex);
			}
			throw ex;
		}
		if (!transaction.isNewTransaction()) {
			settleAfterRollback(operation, claims, marks, null);
		}
		if (withoutEffect) {
			// The handler requested a rollback of its writes and returned, or it declined
			// the operation: the operation is done.
			this.transactions.rollback(transaction, null);
			this.transactions.completeWithoutEffect(operation, boundary.definition(),
					() -> complete(operation, request, mark, bytes));
		}
		if (request != null && transaction.isNewTransaction()) {
			this.engine.cache().add(operation, bytes);
		}
		return new IdempotentResult<>(result, false);
	}

	private void store(IdempotentOperation operation, @Nullable ClaimRequest request, byte @Nullable [] result) {
		if (request != null && result != null) {
			this.engine.calls().call(StoreCall.COMPLETE, operation, () -> {
				this.store.storeResult(request, result);
				return Settlement.SETTLED;
			});
		}
	}

	private void complete(IdempotentOperation operation, @Nullable ClaimRequest request, @Nullable OffsetMark mark,
			byte @Nullable [] result) {
		if (request == null) {
			this.offsets.raise(operation, Objects.requireNonNull(mark), false);
			return;
		}
		if (!(claim(operation, request, false) instanceof Claim.Acquired)) {
			throw Transactions.lost(false, operation, null);
		}
		store(operation, request, result);
	}

	private void failed(IdempotentOperation operation, List<ClaimRequest> claims, List<OffsetMark> marks,
			Throwable error, boolean inDoubt) {
		BooleanSupplier undo = () -> this.transactions.undo(operation, claims, marks, error);
		if (Invocation.isFailure(error)) {
			this.transactions.failed(operation, () -> this.transactions.noteFailure(operation, claims, error)
					&& !this.offsets.isRaised(operation, marks), undo, error, inDoubt);
		}
		else if (!inDoubt) {
			undo.getAsBoolean();
		}
	}

	// Note the failure or, if only the caller failed, undo a completion that the handler
	// has committed itself. The transaction of the caller still holds its connection and
	// its lock on the record, also in afterCompletion. This thread would wait for a
	// second connection, and with a pool of one connection forever.
	private void settleAfterRollback(IdempotentOperation operation, List<ClaimRequest> claims, List<OffsetMark> marks,
			@Nullable Throwable error) {
		if (!TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			private boolean inDoubt;

			@Override
			public void beforeCommit(boolean readOnly) {
				this.inDoubt = true;
			}

			@Override
			public void afterCompletion(int status) {
				if (status == STATUS_ROLLED_BACK) {
					// The next execution looks there before it waits for the settlement.
					TransactionalProtocol.this.engine.cache().removeAll(List.of(operation.key()));
					TransactionalProtocol.this.asynchronous.settle(List.of(operation), false,
							() -> settleEarlier(operation, claims, marks, error, this.inDoubt));
				}
			}

		});
	}

	// It is dropped if the store is unavailable, or if it arrives after the next
	// execution.
	private void settleEarlier(IdempotentOperation operation, List<ClaimRequest> claims, List<OffsetMark> marks,
			@Nullable Throwable error, boolean inDoubt) {
		try {
			if (!this.engine.calls().isPermitted()) {
				return;
			}
			if (error != null) {
				failed(operation, claims, marks, error, inDoubt);
			}
			else if (!inDoubt) {
				this.transactions.undo(operation, claims, marks, null);
			}
		}
		catch (OperationBlockedException ex) {
			logger.debug("A failure was not recorded: " + operation, ex);
		}
	}

	<T, E extends Throwable> @Nullable T executeUnprotected(Object subject, TransactionBoundary boundary,
			Handler<T, E> handler) throws E {
		TransactionStatus transaction = this.transactions.beginUnprotected(subject, boundary.definition());
		try {
			T result = handler.handle();
			if (Transactions.isRollbackOnly(transaction, boundary)) {
				this.transactions.rollback(transaction, null);
			}
			else {
				this.transactions.commit(transaction);
			}
			return result;
		}
		catch (Throwable ex) {
			this.transactions.rollback(transaction, ex);
			throw ex;
		}
	}

	<T> void executeAll(BatchRun<T> run, TransactionBoundary boundary, boolean isProtected) {
		if (isProtected) {
			// As for a single operation.
			run.plan()
				.unanswered()
				.forEach((index) -> this.settlements.awaitQueued(run.plan().item(index).operation().key()));
		}
		new TransactionalBatch<>(this.engine, this.store, this.transactions, run, boundary, this.offsets)
			.execute(isProtected);
	}

}
