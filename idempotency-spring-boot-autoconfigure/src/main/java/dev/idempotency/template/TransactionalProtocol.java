package dev.idempotency.template;

import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * The protocol of {@link Mode#TRANSACTIONAL}:
 * <ol>
 * <li>begin a transaction, and insert the records with one statement. The row lock makes
 * a concurrent duplicate wait;</li>
 * <li>if a record exists, roll back, begin a new transaction, and take the record over or
 * replay its result;</li>
 * <li>run the handler, add its results, commit: the records and the handler's writes are
 * stored together or not at all;</li>
 * <li>if the handler or the commit failed, roll back and note the failure in a separate
 * transaction. If that fails too, the database is down, and the record is redelivered. If
 * the record is found completed, the commit had succeeded, or the handler has committed
 * the transaction itself: then the completion is undone.</li>
 * </ol>
 * {@link TransactionalBatch} is one delivery. An operation that is recognized by its
 * offset has a mark instead of a record, see {@link OffsetClaims}.
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

	// Note the failure of an operation or, if only the caller failed, undo a completion
	// that the handler has committed itself. The transaction of the caller still holds
	// its connection and its lock on the record, also in afterCompletion. This thread
	// would wait for a second connection, and with a pool of one connection forever. The
	// settlement is told whether the outcome of the commit is unknown.
	void settleAfterRollback(IdempotentOperation operation, Consumer<Boolean> settlement) {
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
							() -> settleEarlier(operation, settlement, this.inDoubt));
				}
			}

		});
	}

	// It is dropped if the store is unavailable, or if it arrives after the next
	// execution.
	private void settleEarlier(IdempotentOperation operation, Consumer<Boolean> settlement, boolean inDoubt) {
		try {
			if (this.engine.calls().isPermitted()) {
				settlement.accept(inDoubt);
			}
		}
		catch (OperationBlockedException ex) {
			logger.debug("A failure was not recorded: " + operation, ex);
		}
	}

}
