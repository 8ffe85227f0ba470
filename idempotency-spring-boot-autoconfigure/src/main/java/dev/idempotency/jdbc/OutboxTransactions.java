package dev.idempotency.jdbc;

import javax.sql.DataSource;

import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.outbox.OutboxRow;

/**
 * Refuses messages outside of a transaction that commits them. A connection that is bound
 * to the thread proves nothing: a read within a transaction of another {@link DataSource}
 * binds one, too, which is closed without a commit.
 */
final class OutboxTransactions {

	private static final TransactionDefinition EXISTING = existing();

	private final PlatformTransactionManager manager;

	private final DataSource dataSource;

	OutboxTransactions(PlatformTransactionManager manager, DataSource dataSource) {
		this.manager = manager;
		this.dataSource = dataSource;
	}

	private static TransactionDefinition existing() {
		DefaultTransactionDefinition existing = new DefaultTransactionDefinition(
				TransactionDefinition.PROPAGATION_MANDATORY);
		// Or a strict manager would refuse to join a transaction that is read-only.
		existing.setReadOnly(true);
		return existing;
	}

	/**
	 * Require a transaction of the manager, with a connection of the outbox's
	 * {@link DataSource}. That is no round trip.
	 * @param row a message that is sent in it
	 * @throws IllegalStateException if there is none
	 */
	void require(OutboxRow row) {
		// Joining would begin a synchronization if there were none.
		Assert.state(TransactionSynchronizationManager.isSynchronizationActive(),
				() -> "No transaction is active for the " + row + "; send it in a transaction");
		try {
			this.manager.getTransaction(EXISTING);
		}
		catch (IllegalTransactionStateException ex) {
			throw new IllegalStateException(
					"The active transaction is not one of the outbox's transaction manager, a "
							+ this.manager.getClass().getName() + ", so the " + row
							+ " would be lost; send it in a transaction of that manager, which @Transactional can name",
					ex);
		}
		Assert.state(TransactionSynchronizationManager.hasResource(this.dataSource),
				() -> "The current transaction does not bind a connection of the outbox's DataSource, so the " + row
						+ " would not commit with it; use the transaction manager of that DataSource");
	}

}
