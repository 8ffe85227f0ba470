package dev.idempotency;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * Renews the leases of the handlers that run in this process: one thread for all of them
 * looks several times a lease, and renews those a third of whose lease is over in one
 * batch. A lease that cannot be renewed is tried again at the next look.
 * <p>
 * Whoever has lost its key shows that in its {@link IdempotentExecution} and is renewed
 * no more. A process that is frozen renews nothing: it learns of its loss when it wakes
 * up.
 */
final class Leases implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(Leases.class);

	private static final int RENEWED_AFTER = 3;

	private static final int LOOKS = 6;

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final Map<UUID, Lease> running = new ConcurrentHashMap<>();

	private final Looks looks;

	Leases(IdempotencyStore store, StoreCalls calls, ThreadFactory threads) {
		this.store = store;
		this.calls = calls;
		this.looks = new Looks(this::renew, threads);
	}

	/**
	 * Keep a lease until it is {@link #release released}.
	 * @param claim the request that acquired the key
	 * @param execution who is told when it is lost
	 * @param since when the claim was made, by {@link System#nanoTime()}
	 */
	void keep(ClaimRequest claim, IdempotentExecution execution, long since) {
		this.running.put(claim.token(), new Lease(claim, execution, since));
		try {
			this.looks.every(claim.lease().dividedBy(LOOKS));
		}
		catch (Error ex) {
			// Nobody would release it.
			this.running.remove(claim.token());
			throw ex;
		}
	}

	/**
	 * Keep a lease, but think nothing of its loss: its key is being settled.
	 * @param claim the request that acquired the key
	 */
	void settling(ClaimRequest claim) {
		Lease lease = this.running.get(claim.token());
		if (lease != null) {
			lease.settling = true;
		}
	}

	void release(ClaimRequest claim) {
		this.running.remove(claim.token());
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
		else if (!lease.settling && this.running.remove(lease.claim.token()) != null) {
			lease.execution.loseOwnership();
			logger
				.warn("The lease of " + lease.claim.lease() + " ran out while its handler runs, and somebody else has "
						+ "the key now, or the store has forgotten it: " + lease.claim.key()
						+ "; what this execution will report changes nothing");
		}
	}

	/**
	 * Renew no more. Handlers that still run keep what is left of their leases.
	 */
	@Override
	public void close() {
		this.looks.close();
		if (!this.running.isEmpty()) {
			logger
				.warn(this.running.size() + " handlers still run; their keys are free when their leases have run out");
		}
	}

	private static final class Lease {

		private final ClaimRequest claim;

		private final IdempotentExecution execution;

		private volatile boolean settling;

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
