package dev.idempotency.outbox;

import java.util.UUID;
import java.util.function.IntSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListener.Intervention;

/**
 * What operators may do to messages that have been set aside. Whatever is done is logged
 * and told to the {@link IdempotencyListener}.
 *
 * @since 0.1.0
 */
public final class OutboxOperator {

	private static final Log logger = LogFactory.getLog(OutboxOperator.class);

	private final OutboxStore store;

	private final Runnable changed;

	private final IdempotencyListener listener;

	/**
	 * Create an operator.
	 * @param store the outbox
	 * @param changed run when there may be messages to be published
	 * @param listener who is told
	 */
	public OutboxOperator(OutboxStore store, Runnable changed, IdempotencyListener listener) {
		this.store = store;
		this.changed = changed;
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
	 * Publish a message all the same, see {@link OutboxStore#retry(UUID)}.
	 * @param id its identity
	 * @param who who asks for it, if that is known
	 * @return whether it was set aside
	 */
	public boolean retry(UUID id, @Nullable String who) {
		return change(Intervention.RETRY, "the message " + id, who, () -> this.store.retry(id) ? 1 : 0) > 0;
	}

	/**
	 * Publish messages all the same, see {@link OutboxStore#retry(String, int)}.
	 * @param topic their topic
	 * @param limit how many at most
	 * @param who who asks for it, if that is known
	 * @return how many were set aside
	 */
	public int retry(String topic, int limit, @Nullable String who) {
		return change(Intervention.RETRY, messages(topic), who, () -> this.store.retry(topic, limit));
	}

	/**
	 * Delete a message, see {@link OutboxStore#discard(UUID)}.
	 * @param id its identity
	 * @param who who asks for it, if that is known
	 * @return whether it was set aside
	 */
	public boolean discard(UUID id, @Nullable String who) {
		return change(Intervention.DISCARD, "the message " + id, who, () -> this.store.discard(id) ? 1 : 0) > 0;
	}

	/**
	 * Delete messages, see {@link OutboxStore#discard(String, int)}.
	 * @param topic their topic
	 * @param limit how many at most
	 * @param who who asks for it, if that is known
	 * @return how many were set aside
	 */
	public int discard(String topic, int limit, @Nullable String who) {
		return change(Intervention.DISCARD, messages(topic), who, () -> this.store.discard(topic, limit));
	}

	private static String messages(String topic) {
		return "messages to the topic '" + topic.replaceAll("\\p{Cntrl}", "?") + "'";
	}

	private int change(Intervention intervention, String messages, @Nullable String who, IntSupplier action) {
		String what = intervention.describe("of " + messages + " in the outbox '" + this.store.table() + "'", who);
		int changed = 0;
		try {
			changed = action.getAsInt();
			if (changed > 0) {
				logger.warn("Intervention: " + what + ((changed > 1) ? ", " + changed + " messages" : ""));
				this.changed.run();
			}
			else {
				logger.info("Refused: " + what + "; no such message is set aside");
			}
			return changed;
		}
		catch (RuntimeException ex) {
			logger.warn("The outcome of the " + what + " is unknown; check the messages that are set aside", ex);
			throw ex;
		}
		finally {
			this.listener.intervened(intervention, changed > 0);
		}
	}

}
