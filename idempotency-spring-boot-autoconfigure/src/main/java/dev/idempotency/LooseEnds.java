package dev.idempotency;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * What the store did not take: completions and failures of handlers that have run, and
 * claims whose answer never came. They are made up for, with the same owner token, when
 * the record is delivered here again, and in any case as soon as the store answers. So an
 * outage runs no handler twice, and holds no key up for a lease, as long as this process
 * lives.
 */
final class LooseEnds {

	private static final Log logger = LogFactory.getLog(LooseEnds.class);

	// One for each record that was under way, and then one for each delivery that the
	// circuit breaker lets through.
	private static final int MAX = 10_000;

	private final StoreCalls calls;

	private final Map<IdempotencyKey, LooseEnd> ends = new ConcurrentHashMap<>();

	LooseEnds(StoreCalls calls) {
		this.calls = calls;
	}

	void add(StoreCall call, IdempotentOperation operation, Supplier<Settlement> settlement) {
		if (this.ends.size() >= MAX) {
			return;
		}
		LooseEnd end = new LooseEnd(call, operation, settlement);
		if (call == StoreCall.RELEASE) {
			// What is known of a handler that has run is worth more.
			this.ends.putIfAbsent(operation.key(), end);
		}
		else {
			this.ends.put(operation.key(), end);
		}
	}

	/**
	 * Make up for what is left of an earlier delivery. What came of it shows in the claim
	 * that follows.
	 * @param attempt the present delivery
	 * @throws OperationBlockedException if the store still does not take it
	 */
	void settle(Attempt<?, ?> attempt) {
		if (this.ends.isEmpty()) {
			return;
		}
		LooseEnd end = this.ends.get(attempt.operation().key());
		if (end != null) {
			if (end.call() == StoreCall.COMPLETE) {
				attempt.hasRun();
			}
			this.calls.permit(attempt.operation());
			settle(end);
		}
	}

	/**
	 * Make up for everything, as long as the store answers.
	 */
	void settleAll() {
		for (LooseEnd end : this.ends.values()) {
			try {
				this.calls.permit(end.operation());
				settle(end);
			}
			catch (OperationBlockedException ex) {
				logger.debug("Not yet", ex);
				return;
			}
		}
	}

	private void settle(LooseEnd end) {
		Settlement settlement = this.calls.settle(end.call(), end.operation(), end.settlement());
		if (!this.ends.remove(end.operation().key(), end) || end.call() == StoreCall.RELEASE) {
			return;
		}
		if (settlement == Settlement.SETTLED) {
			logger.info("What could not be recorded has been recorded now: " + end);
		}
		else {
			logger.error("What could not be recorded is too late, somebody else has taken the key over: " + end
					+ "; the operation may have taken effect twice");
		}
	}

	boolean isEmpty() {
		return this.ends.isEmpty();
	}

	private record LooseEnd(StoreCall call, IdempotentOperation operation, Supplier<Settlement> settlement) {

		@Override
		public String toString() {
			return ((this.call == StoreCall.COMPLETE) ? "the completion of " : "the failure of ") + this.operation;
		}

	}

}
