package dev.idempotency.outbox;

import java.util.UUID;
import java.util.function.Predicate;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.IdempotencyListener.Intervention;

/**
 * What people may do to messages that have been set aside. Whatever is done is logged and
 * told to the {@link IdempotencyListener}.
 *
 * @since 0.1.0
 */
public final class OutboxOperator {

	private static final Log logger = LogFactory.getLog(OutboxOperator.class);

	private final OutboxStore store;

	private final Runnable retried;

	private final IdempotencyListener listener;

	/**
	 * Create an operator.
	 * @param store the outbox
	 * @param retried run when there is a message to be published
	 * @param listener who is told
	 */
	public OutboxOperator(OutboxStore store, Runnable retried, IdempotencyListener listener) {
		this.store = store;
		this.retried = retried;
		this.listener = listener;
	}

	/**
	 * The outbox.
	 * @return the outbox
	 */
	public OutboxStore store() {
		return this.store;
	}

	/**
	 * Publish a message all the same, see {@link OutboxStore#retry}.
	 * @param id its identity
	 * @param who who asks for it, if that is known
	 * @return whether it was set aside
	 */
	public boolean retry(UUID id, @Nullable String who) {
		boolean done = change(Intervention.RETRY, id, who, this.store::retry);
		if (done) {
			this.retried.run();
		}
		return done;
	}

	/**
	 * Delete a message, see {@link OutboxStore#discard}.
	 * @param id its identity
	 * @param who who asks for it, if that is known
	 * @return whether it was set aside
	 */
	public boolean discard(UUID id, @Nullable String who) {
		return change(Intervention.DISCARD, id, who, this.store::discard);
	}

	private boolean change(Intervention intervention, UUID id, @Nullable String who, Predicate<UUID> action) {
		String what = intervention.describe("of the message " + id + " in the outbox '" + this.store.table() + "'",
				who);
		boolean done = false;
		try {
			done = action.test(id);
			if (done) {
				logger.warn("Intervention: " + what);
			}
			else {
				logger.info("Refused: " + what + "; no such message is set aside");
			}
			return done;
		}
		catch (RuntimeException ex) {
			logger.warn("Nobody knows what came of the " + what + "; look at the message", ex);
			throw ex;
		}
		finally {
			this.listener.intervened(intervention, done);
		}
	}

}
