package dev.idempotency.outbox;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;

/**
 * The {@link Outbox} on an {@link OutboxStore}.
 *
 * @since 0.1.0
 */
public final class TransactionalOutbox implements Outbox {

	private static final Log logger = LogFactory.getLog(TransactionalOutbox.class);

	private final OutboxStore store;

	private final OutboxSerializer serializer;

	private final List<OutboxContext> contexts;

	private final Runnable committed;

	/**
	 * Create an outbox.
	 * @param store where the messages are kept
	 * @param serializer turns them into bytes
	 * @param contexts describe the sender of a message
	 * @param committed run after a transaction with messages has committed
	 */
	public TransactionalOutbox(OutboxStore store, OutboxSerializer serializer, List<OutboxContext> contexts,
			Runnable committed) {
		this.store = store;
		this.serializer = serializer;
		this.contexts = List.copyOf(contexts);
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
		Assert.state(TransactionSynchronizationManager.isSynchronizationActive(),
				() -> "The " + messages.get(0) + " comes after the end of its transaction, and would be lost; send it "
						+ "before the commit, or in a transaction of its own (REQUIRES_NEW)");
		this.store.insert(messages.stream().map(this::row).toList());
		TransactionSynchronizationManager.registerSynchronization(new Sent(messages.get(0)));
	}

	private OutboxRow row(OutboxMessage message) {
		UUID id = TimeOrderedUuid.next();
		List<OutboxHeader> added = context(message);
		if (message.idempotencyKey() != null) {
			return this.serializer.serialize(message, id, message.idempotencyKey()).withHeaders(added);
		}
		IdempotentExecution cause = (message.cause() != null) ? message.cause() : IdempotentExecution.ifCurrent();
		if (cause == null) {
			return this.serializer.serialize(message, id, TimeOrderedUuid.next().toString()).withHeaders(added);
		}
		String derived = cause.nextTransactionalKey(message.topic(), message.type());
		OutboxRow row = this.serializer.serialize(message, id, derived);
		// Another attempt of the handler may send something else under this key.
		if (!message.hasHeader(OutboxRow.FINGERPRINT_HEADER)) {
			added.add(row.fingerprint());
		}
		return row.withHeaders(added);
	}

	private List<OutboxHeader> context(OutboxMessage message) {
		List<OutboxHeader> headers = new ArrayList<>();
		if (!message.hasHeader(OutboxRow.TIME_HEADER)) {
			headers
				.add(new OutboxHeader(OutboxRow.TIME_HEADER, Instant.now().truncatedTo(ChronoUnit.MILLIS).toString()));
		}
		this.contexts.forEach((context) -> headers.addAll(context.headers(message)));
		return headers;
	}

	/**
	 * The end of a transaction with messages.
	 */
	private final class Sent implements TransactionSynchronization {

		private final OutboxMessage first;

		private boolean inTime;

		Sent(OutboxMessage first) {
			this.first = first;
		}

		@Override
		public void beforeCompletion() {
			this.inTime = true;
		}

		@Override
		public void afterCommit() {
			tell();
		}

		// What goes wrong here would look as if the transaction had failed.
		private void tell() {
			try {
				TransactionalOutbox.this.committed.run();
			}
			catch (RuntimeException ex) {
				logger.warn("The " + this.first
						+ " has committed, but no relay could be told; it is published when one " + "looks", ex);
			}
		}

		// In a callback after the commit everything still looks as in the transaction.
		@Override
		public void afterCompletion(int status) {
			if (!this.inTime && status == STATUS_COMMITTED) {
				logger
					.error("The " + this.first + " was sent after the commit of its transaction, and may be lost; send "
							+ "it before the commit, or in a transaction of its own (REQUIRES_NEW)");
				tell();
			}
		}

	}

}
