package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;

import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxRelay;

/**
 * Requests the publication of messages that have just been committed.
 *
 * @param relay the relay of this instance, if it has one
 * @param notifier the notifier of the relays of other instances, if this one has no relay
 */
record OutboxWakeUp(ObjectProvider<OutboxRelay> relay, ObjectProvider<OutboxNotifier> notifier) implements Runnable {

	@Override
	public void run() {
		this.relay.ifAvailable(OutboxRelay::wake);
		this.notifier.ifAvailable(OutboxNotifier::wake);
	}

}
