package dev.idempotency.outbox;

import java.util.List;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.TimeOrderedUuid;

/**
 * The {@link Outbox} on an {@link OutboxStore}.
 *
 * @since 0.1.0
 */
public final class TransactionalOutbox implements Outbox {

	private final OutboxStore store;

	private final OutboxSerializer serializer;

	private final Runnable committed;

	/**
	 * Create an outbox.
	 * @param store where the messages are kept
	 * @param serializer turns them into bytes
	 * @param committed run after a transaction with messages has committed
	 */
	public TransactionalOutbox(OutboxStore store, OutboxSerializer serializer, Runnable committed) {
		this.store = store;
		this.serializer = serializer;
		this.committed = committed;
	}

	@Override
	public void send(List<OutboxMessage> messages) {
		if (messages.isEmpty()) {
			return;
		}
		Assert.state(TransactionSynchronizationManager.isActualTransactionActive(),
				() -> "No transaction is active for the " + messages.get(0) + "; send it from an @Idempotent listener "
						+ "in transactional mode or from a @Transactional method, so that it commits with their writes");
		this.store.insert(messages.stream().map(this::row).toList());
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCommit() {
					TransactionalOutbox.this.committed.run();
				}

			});
		}
	}

	private OutboxRow row(OutboxMessage message) {
		return this.serializer.serialize(message, TimeOrderedUuid.next(), idempotencyKey(message));
	}

	private static String idempotencyKey(OutboxMessage message) {
		if (message.idempotencyKey() != null) {
			return message.idempotencyKey();
		}
		IdempotentExecution cause = (message.cause() != null) ? message.cause() : IdempotentExecution.ifCurrent();
		return (cause != null) ? cause.nextKey() : TimeOrderedUuid.next().toString();
	}

}
