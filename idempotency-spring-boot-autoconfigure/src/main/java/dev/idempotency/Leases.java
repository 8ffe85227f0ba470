package dev.idempotency;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Renews the leases of the handlers that run in this process: one thread for all of them
 * looks several times a lease, and renews those a third of whose lease is over in one
 * batch. A lease that cannot be renewed is tried again at the next look. Between looks it
 * makes up for loose ends.
 * <p>
 * Whoever has lost its key shows that in its {@link IdempotentExecution} and is renewed
 * no more. A process that is frozen renews nothing: it learns of its loss when it wakes
 * up.
 */
final class Leases implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(Leases.class);

	private static final int RENEWED_AFTER = 3;

	private static final int LOOKS = 6;

	private static final Duration SHORTEST_PERIOD = Duration.ofMillis(5);

	private static final Duration LONGEST_PERIOD = Duration.ofSeconds(1);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final LooseEnds looseEnds;

	private final Map<UUID, Lease> running = new ConcurrentHashMap<>();

	private final ScheduledExecutorService executor;

	private volatile @Nullable Duration period;

	private @Nullable ScheduledFuture<?> looks;

	Leases(IdempotencyStore store, StoreCalls calls, LooseEnds looseEnds) {
		this.store = store;
		this.calls = calls;
		this.looseEnds = looseEnds;
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-leases-");
		threads.setDaemon(true);
		this.executor = Executors.newSingleThreadScheduledExecutor(threads);
	}

	/**
	 * Keep a lease until it is {@link #release released}.
	 * @param claim the request that acquired the key
	 * @param execution who is told when it is lost
	 * @param since when the claim was made, by {@link System#nanoTime()}
	 */
	void keep(ClaimRequest claim, IdempotentExecution execution, long since) {
		this.running.put(claim.token(), new Lease(claim, execution, since));
		lookWithin(claim.lease());
	}

	// Before the key is settled: from then on a renewal that fails means nothing.
	void release(ClaimRequest claim) {
		this.running.remove(claim.token());
	}

	/**
	 * Make sure that there are looks enough for a lease.
	 * @param lease the lease
	 */
	void lookWithin(Duration lease) {
		Duration wanted = max(SHORTEST_PERIOD, min(LONGEST_PERIOD, lease.dividedBy(LOOKS)));
		Duration present = this.period;
		if (present == null || wanted.compareTo(present) < 0) {
			lookEvery(wanted);
		}
	}

	private synchronized void lookEvery(Duration wanted) {
		if (this.period != null && wanted.compareTo(this.period) >= 0) {
			return;
		}
		this.period = wanted;
		if (this.looks != null) {
			this.looks.cancel(false);
		}
		try {
			this.looks = this.executor.scheduleWithFixedDelay(this::look, wanted.toNanos(), wanted.toNanos(),
					TimeUnit.NANOSECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("Closed already: the lease is not renewed", ex);
		}
	}

	private void look() {
		try {
			this.looseEnds.settleAll();
			renew();
		}
		catch (RuntimeException ex) {
			logger.warn("Leases could not be renewed; the next try comes in " + this.period, ex);
		}
	}

	private void renew() {
		long now = System.nanoTime();
		if (this.running.values().stream().noneMatch((lease) -> lease.isOlder(now, RENEWED_AFTER))) {
			return;
		}
		// Whatever is not quite due goes with it, so that all are due together next time.
		List<Lease> due = this.running.values().stream().filter((lease) -> lease.isOlder(now, LOOKS)).toList();
		List<ClaimRequest> claims = due.stream().map((lease) -> lease.claim).toList();
		List<Settlement> answers;
		try {
			answers = this.calls.call(StoreCall.RENEW, claims.size() + " running handlers",
					() -> this.store.renewAll(claims));
		}
		catch (OperationBlockedException ex) {
			logger.debug("Not yet", ex);
			return;
		}
		for (int i = 0; i < answers.size(); i++) {
			renewed(due.get(i), answers.get(i), now);
		}
	}

	private void renewed(Lease lease, Settlement answer, long now) {
		if (answer == Settlement.SETTLED) {
			lease.since = now;
		}
		else if (this.running.remove(lease.claim.token()) != null) {
			lease.execution.loseOwnership();
			logger
				.warn("The lease of " + lease.claim.lease() + " ran out while its handler runs, and somebody else has "
						+ "the key now: " + lease.claim.key() + "; what this execution will report changes nothing");
		}
	}

	private static Duration min(Duration a, Duration b) {
		return (a.compareTo(b) < 0) ? a : b;
	}

	private static Duration max(Duration a, Duration b) {
		return (a.compareTo(b) > 0) ? a : b;
	}

	/**
	 * Make up for loose ends a last time. Handlers that still run keep what is left of
	 * their leases.
	 */
	@Override
	public void close() {
		this.executor.shutdownNow();
		this.looseEnds.settleAll();
		if (!this.running.isEmpty()) {
			logger
				.warn(this.running.size() + " handlers still run; their keys are free when their leases have run out");
		}
	}

	private static final class Lease {

		private final ClaimRequest claim;

		private final IdempotentExecution execution;

		// Only the renewing thread changes it.
		private long since;

		Lease(ClaimRequest claim, IdempotentExecution execution, long since) {
			this.claim = claim;
			this.execution = execution;
			this.since = since;
		}

		boolean isOlder(long now, int part) {
			return now - this.since >= this.claim.lease().toNanos() / part;
		}

	}

}
