package dev.idempotency.template;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The keys of messages that are sent if the current transaction commits. If it does not,
 * they are put back, the last one first, unless a later one has been given to somebody
 * else.
 */
final class TransactionKeys implements TransactionSynchronization {

	private final List<Drawn> drawn = new ArrayList<>();

	// How many had been drawn by then.
	private final Map<Object, Integer> savepoints = new IdentityHashMap<>();

	private TransactionKeys() {
	}

	static void add(ClaimedExecution execution, int number) {
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			current().drawn.add(new Drawn(execution, number));
		}
	}

	private static TransactionKeys current() {
		Object known = TransactionSynchronizationManager.getResource(TransactionKeys.class);
		if (known instanceof TransactionKeys keys) {
			return keys;
		}
		TransactionKeys keys = new TransactionKeys();
		keys.resume();
		TransactionSynchronizationManager.registerSynchronization(keys);
		return keys;
	}

	// After the end nobody suspends it, but others may begin transactions.
	@Override
	public int getOrder() {
		return HIGHEST_PRECEDENCE;
	}

	@Override
	public void suspend() {
		TransactionSynchronizationManager.unbindResource(TransactionKeys.class);
	}

	@Override
	public void resume() {
		TransactionSynchronizationManager.bindResource(TransactionKeys.class, this);
	}

	@Override
	public void savepoint(Object savepoint) {
		this.savepoints.put(savepoint, this.drawn.size());
	}

	// One that is not known is older than the first key.
	@Override
	public void savepointRollback(Object savepoint) {
		putBack(this.savepoints.getOrDefault(savepoint, 0));
	}

	// One that fails to commit, as for a conflict, ends in an unknown state.
	@Override
	public void afterCompletion(int status) {
		TransactionSynchronizationManager.unbindResourceIfPossible(TransactionKeys.class);
		if (status != STATUS_COMMITTED) {
			putBack(0);
		}
	}

	private void putBack(int from) {
		while (this.drawn.size() > from) {
			Drawn last = this.drawn.remove(this.drawn.size() - 1);
			last.execution().putBack(last.number());
		}
	}

	/**
	 * A key that has been given to a message.
	 *
	 * @param execution whose key
	 * @param number its number
	 */
	private record Drawn(ClaimedExecution execution, int number) {

	}

}
