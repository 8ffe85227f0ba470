package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Settlement;

/**
 * Tells every {@link IdempotencyListener}; what one of them throws is logged and ignored.
 *
 * @since 0.1.0
 */
public final class IdempotencyListeners implements IdempotencyListener {

	private static final Log logger = LogFactory.getLog(IdempotencyListeners.class);

	private final List<IdempotencyListener> listeners;

	public IdempotencyListeners(List<IdempotencyListener> listeners) {
		this.listeners = List.copyOf(listeners);
	}

	@Override
	public void executed(Execution execution) {
		tell((listener) -> listener.executed(execution));
	}

	@Override
	public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
		tell((listener) -> listener.storeCalled(store, call, outcome, duration));
	}

	@Override
	public void storeFailed(String store, OperationBlockedException error) {
		tell((listener) -> listener.storeFailed(store, error));
	}

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		tell((listener) -> listener.circuitChanged(store, state));
	}

	@Override
	public void keyMissing(String listenerName, MissingKeyPolicy policy) {
		tell((listener) -> listener.keyMissing(listenerName, policy));
	}

	@Override
	public void cleanedUp(String table, int deleted) {
		tell((listener) -> listener.cleanedUp(table, deleted));
	}

	@Override
	public void completionFailed(String listenerName, IdempotencyKey key) {
		tell((listener) -> listener.completionFailed(listenerName, key));
	}

	@Override
	public void completionSettled(String listenerName, IdempotencyKey key, Settlement settlement) {
		tell((listener) -> listener.completionSettled(listenerName, key, settlement));
	}

	@Override
	public void intervened(Intervention intervention, boolean done) {
		tell((listener) -> listener.intervened(intervention, done));
	}

	@Override
	public void cleanupEnded(String table, Duration duration, Duration backlogAge) {
		tell((listener) -> listener.cleanupEnded(table, duration, backlogAge));
	}

	@Override
	public void evictionChecked(String store, boolean possible) {
		tell((listener) -> listener.evictionChecked(store, possible));
	}

	private void tell(Consumer<IdempotencyListener> event) {
		for (IdempotencyListener listener : this.listeners) {
			try {
				event.accept(listener);
			}
			catch (RuntimeException ex) {
				logger.warn("The idempotency listener " + listener.getClass().getName()
						+ " failed; mend it, its event is lost", ex);
			}
		}
	}

}
