package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyListener.Execution;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotencyListener.StoreOutcome;

/**
 * Notifies all {@link IdempotencyListener listeners}, and logs and drops their
 * exceptions.
 */
final class IdempotencyListeners implements IdempotencyListener {

	private static final Log logger = LogFactory.getLog(IdempotencyListeners.class);

	private final List<IdempotencyListener> listeners;

	IdempotencyListeners(List<IdempotencyListener> listeners) {
		this.listeners = List.copyOf(listeners);
	}

	@Override
	public void executed(Execution execution) {
		callEach((listener) -> listener.executed(execution));
	}

	@Override
	public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
		callEach((listener) -> listener.storeCalled(store, call, outcome, duration));
	}

	@Override
	public void storeFailed(String store, OperationBlockedException error) {
		callEach((listener) -> listener.storeFailed(store, error));
	}

	@Override
	public void blocked(BlockedRecord record) {
		callEach((listener) -> listener.blocked(record));
	}

	@Override
	public void unblocked(BlockedRecord record) {
		callEach((listener) -> listener.unblocked(record));
	}

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		callEach((listener) -> listener.circuitChanged(store, state));
	}

	@Override
	public void keyMissing(String listenerName, MissingKeyPolicy policy) {
		callEach((listener) -> listener.keyMissing(listenerName, policy));
	}

	@Override
	public void cleanedUp(String table, int deleted) {
		callEach((listener) -> listener.cleanedUp(table, deleted));
	}

	@Override
	public void completionFailed(String listenerName, IdempotencyKey key) {
		callEach((listener) -> listener.completionFailed(listenerName, key));
	}

	@Override
	public void completionSettled(String listenerName, IdempotencyKey key, Settlement settlement) {
		callEach((listener) -> listener.completionSettled(listenerName, key, settlement));
	}

	@Override
	public void intervened(Intervention intervention, boolean done) {
		callEach((listener) -> listener.intervened(intervention, done));
	}

	@Override
	public void cleanupEnded(String table, Duration duration, Duration backlogAge) {
		callEach((listener) -> listener.cleanupEnded(table, duration, backlogAge));
	}

	@Override
	public void evictionChecked(String store, boolean possible) {
		callEach((listener) -> listener.evictionChecked(store, possible));
	}

	@Override
	public void migrationAnswered(String store, String source, Claim answer) {
		callEach((listener) -> listener.migrationAnswered(store, source, answer));
	}

	private void callEach(Consumer<IdempotencyListener> callback) {
		for (IdempotencyListener listener : this.listeners) {
			try {
				callback.accept(listener);
			}
			catch (RuntimeException ex) {
				logger.warn("The idempotency listener " + listener.getClass().getName()
						+ " threw an exception; the event was dropped. Fix the listener", ex);
			}
		}
	}

}
