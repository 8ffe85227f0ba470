package dev.idempotency.template;

import java.util.OptionalLong;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionStatus;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The protocol of {@link Mode#TRANSACTIONAL} for an operation that is recognized by its
 * offset:
 * <ol>
 * <li>begin a transaction, and raise the mark of the partition with one statement. The
 * row lock makes a consumer wait that has lost the partition;</li>
 * <li>if the mark was not lower than the offset, roll back and skip the record;</li>
 * <li>run the handler and commit: the mark and the handler's writes are stored together
 * or not at all;</li>
 * <li>if the handler or the commit failed, roll back and read the mark. If it cannot be
 * read, the database is down, and the record is redelivered. If it is raised, the commit
 * had succeeded.</li>
 * </ol>
 * {@link BatchMarks} is the same for a batch.
 */
final class OffsetProtocol {

	// The claim of each handler: marks do not count attempts.
	static final Claim.Acquired ACQUIRED = new Claim.Acquired(1, 1);

	private final OffsetMarks marks;

	private final StoreCalls calls;

	private final Transactions transactions;

	private final SkippedOffsets skipped;

	OffsetProtocol(OffsetMarks marks, StoreCalls calls, Transactions transactions, SkippedOffsets skipped) {
		this.marks = marks;
		this.calls = calls;
		this.transactions = transactions;
		this.skipped = skipped;
	}

	<T, E extends Throwable> IdempotentResult<T> execute(Invocation<T, E> invocation, OffsetPosition position,
			TransactionBoundary boundary) throws E {
		IdempotentOperation operation = invocation.operation();
		OffsetMark mark = position.mark(operation.key().scope());
		this.calls.permit(operation);
		TransactionStatus transaction = this.transactions.begin(operation, boundary.definition());
		long previous = raise(operation, mark, transaction);
		if (previous < mark.offset()) {
			return new IdempotentResult<>(run(invocation, mark, transaction, boundary), false);
		}
		if (transaction.isNewTransaction()) {
			this.transactions.rollback(transaction, null);
		}
		position.identity().confirm();
		this.skipped.report(mark, previous);
		return new IdempotentResult<>(null, true);
	}

	private long raise(IdempotentOperation operation, OffsetMark mark, TransactionStatus transaction) {
		boolean joined = !transaction.isNewTransaction();
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.marks.raise(mark, joined));
		}
		catch (RuntimeException | Error ex) {
			if (!joined) {
				this.transactions.rollback(transaction, ex);
			}
			throw ex;
		}
	}

	private <T, E extends Throwable> @Nullable T run(Invocation<T, E> invocation, OffsetMark mark,
			TransactionStatus transaction, TransactionBoundary boundary) throws E {
		IdempotentOperation operation = invocation.operation();
		T result;
		boolean withoutEffect;
		try {
			result = invocation.run(new ClaimedExecution(operation.key(), ACQUIRED));
			withoutEffect = Transactions.isRollbackOnly(transaction, boundary)
					|| (result instanceof Declined && transaction.isNewTransaction());
			if (!withoutEffect) {
				this.transactions.commit(transaction);
			}
		}
		catch (Throwable ex) {
			boolean inDoubt = Transactions.isInDoubt(transaction, ex);
			this.transactions.rollback(transaction, ex);
			if (transaction.isNewTransaction()) {
				requireNotRaised(this.marks, this.calls, mark, operation, ex, inDoubt);
			}
			throw ex;
		}
		if (withoutEffect) {
			// The handler requested a rollback of its writes and returned, or it declined
			// the operation.
			this.transactions.rollback(transaction, null);
			TransactionStatus second = this.transactions.begin(operation, boundary.definition());
			raise(operation, mark, second);
			this.transactions.commitWithoutEffect(second, operation);
		}
		return result;
	}

	// Make sure, after a failure, that the database is available and does not have
	// the mark. Otherwise it is no failure of the handler.
	static void requireNotRaised(OffsetMarks marks, StoreCalls calls, OffsetMark mark, Object subject, Throwable error,
			boolean inDoubt) {
		OptionalLong committed;
		try {
			committed = calls.settle(StoreCall.FAIL, subject, () -> marks.find(mark));
		}
		catch (OperationBlockedException ex) {
			ex.addSuppressed(error);
			throw ex;
		}
		if (committed.orElse(OffsetMarks.NONE) >= mark.offset()) {
			throw Transactions.lost(inDoubt, subject, error);
		}
	}

	BatchMarks batch(BatchRun<?> run) {
		return new BatchMarks(this.marks, this.calls, this.skipped, run);
	}

}
