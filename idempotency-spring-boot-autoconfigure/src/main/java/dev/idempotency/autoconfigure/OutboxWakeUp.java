package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;

import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxRelay;

/**
 * Has messages that have just been committed published, by whoever does so.
 *
 * @param relay the relay of this instance, if it has one
 * @param notifier tells those of others
 */
record OutboxWakeUp(ObjectProvider<OutboxRelay> relay, ObjectProvider<OutboxNotifier> notifier) implements Runnable {

	@Override
	public void run() {
		this.relay.ifAvailable(OutboxRelay::wake);
		this.notifier.ifAvailable(OutboxNotifier::wake);
	}

}
