package dev.idempotency;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * What the store did not take: completions and failures of handlers that have run, and
 * claims whose answer never came. They are made up for, with the same owner token, when
 * the record is delivered here again, and in any case as soon as the store answers. So an
 * outage runs no handler twice, as long as this process lives and nobody else has taken
 * the key over.
 */
final class LooseEnds implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(LooseEnds.class);

	// Of claims to be given back, of which an outage may leave any number. There are no
	// more completions and failures than handlers that were running.
	private static final int MAX_GIVEN_BACK = 1000;

	private static final Duration LAST_TRY = Duration.ofSeconds(10);

	private final StoreCalls calls;

	private final IdempotencyListener listener;

	private final Map<UUID, LooseEnd> ends = new ConcurrentHashMap<>();

	private final Looks looks;

	LooseEnds(StoreCalls calls, IdempotencyListener listener, ThreadFactory threads) {
		this.calls = calls;
		this.listener = listener;
		this.looks = new Looks(this::settleDue, threads);
	}

	void add(StoreCall call, IdempotentOperation operation, UUID token, Supplier<Settlement> settlement) {
		add(call, operation, token, settlement, (madeUpFor) -> {
		});
	}

	void add(StoreCall call, IdempotentOperation operation, UUID token, Supplier<Settlement> settlement,
			Consumer<Settlement> madeUpFor) {
		if (call == StoreCall.RELEASE && this.ends.size() >= MAX_GIVEN_BACK) {
			return;
		}
		// Before it can be settled.
		if (call == StoreCall.COMPLETE) {
			this.listener.completionFailed(operation.name(), operation.key());
		}
		this.ends.put(token, new LooseEnd(call, operation, settlement, madeUpFor));
		try {
			this.looks.every(Duration.ofSeconds(1));
		}
		catch (Error ex) {
			// Whoever adds has more to add, and an error of its own to tell.
			logger.error("No thread could be started that makes up for what the store did not take; that is tried "
					+ "again with the next such settlement. Look at the limits of the process", ex);
		}
	}

	List<UnrecordedCompletion> completions() {
		return this.ends.values().stream().filter(LooseEnd::isCompletion).map(LooseEnd::unrecorded).toList();
	}

	boolean hasCompletion(IdempotencyKey key) {
		return this.ends.values().stream().anyMatch((end) -> end.isCompletion() && end.operation().key().equals(key));
	}

	boolean isEmpty() {
		return this.ends.isEmpty();
	}

	/**
	 * Make up for what is left of earlier deliveries. What came of it shows in the claim
	 * that follows.
	 * @param operation what is delivered now
	 * @param hasRun called if a handler has run for it in this process
	 * @throws OperationBlockedException if the store still does not take it
	 */
	void settle(IdempotentOperation operation, Runnable hasRun) {
		if (this.ends.isEmpty()) {
			return;
		}
		this.ends.entrySet()
			.stream()
			.filter((entry) -> entry.getValue().operation().key().equals(operation.key()))
			.sorted(Comparator.comparing((entry) -> entry.getValue().call()))
			.forEach((entry) -> {
				if (entry.getValue().call() == StoreCall.COMPLETE) {
					hasRun.run();
				}
				this.calls.permit(operation);
				settle(entry.getKey(), entry.getValue());
			});
	}

	private void settleDue() {
		this.ends.values().removeIf(LooseEnd::isPointless);
		settleAll((end) -> end.isDue() && this.calls.isPermitted());
	}

	/**
	 * Make up for everything a last time, whatever the circuit breaker thinks.
	 */
	void settleLast() {
		long start = System.nanoTime();
		settleAll((end) -> System.nanoTime() - start < LAST_TRY.toNanos());
	}

	// One that cannot be settled now does not hold up the others, unless the store is
	// down.
	private void settleAll(Predicate<LooseEnd> when) {
		for (Map.Entry<UUID, LooseEnd> entry : this.ends.entrySet()) {
			if (!when.test(entry.getValue())) {
				continue;
			}
			try {
				settle(entry.getKey(), entry.getValue());
			}
			catch (IdempotencyStoreUnavailableException ex) {
				logger.debug("Not yet", ex);
				return;
			}
			catch (OperationBlockedException ex) {
				logger.debug("Not yet", ex);
			}
			catch (Error ex) {
				logger.error("What the store did not take could not be made up for: " + entry.getValue()
						+ "; that is tried again while this process lives", ex);
			}
		}
	}

	private void settle(UUID token, LooseEnd end) {
		Settlement settlement;
		try {
			settlement = this.calls.settle(end.call(), end.operation(), end.settlement());
		}
		catch (OperationBlockedException | Error ex) {
			end.failed();
			throw ex;
		}
		if (!this.ends.remove(token, end) || end.isGiveBack()) {
			return;
		}
		if (end.isCompletion()) {
			this.listener.completionSettled(end.operation().name(), end.operation().key(), settlement);
		}
		end.madeUpFor().accept(settlement);
		if (settlement == Settlement.SETTLED) {
			logger.info("What could not be recorded has been recorded now: " + end);
		}
		else {
			logger.error("What could not be recorded is too late: " + end
					+ "; somebody else has taken the key over, or the store has forgotten it"
					+ ((end.call() == StoreCall.COMPLETE) ? ", so the operation may take effect twice" : ""));
		}
	}

	@Override
	public void close() {
		this.looks.close();
		settleLast();
	}

}
