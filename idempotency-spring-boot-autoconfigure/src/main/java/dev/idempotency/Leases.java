package dev.idempotency;

import java.util.List;
import java.util.Map;
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

	private final Map<IdempotencyKey, Lease> running = new ConcurrentHashMap<>();

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
		Lease kept = new Lease(claim, execution, since);
		Lease older = this.running.put(claim.key(), kept);
		if (older != null && !older.settling) {
			lost(older);
		}
		try {
			this.looks.every(claim.lease().dividedBy(LOOKS));
		}
		catch (Error ex) {
			// Nobody would release it.
			this.running.remove(claim.key(), kept);
			throw ex;
		}
	}

	/**
	 * Keep a lease, but think nothing of its loss: its key is being settled.
	 * @param claim the request that acquired the key
	 */
	void settling(ClaimRequest claim) {
		Lease lease = this.running.get(claim.key());
		if (lease != null && lease.isOf(claim)) {
			lease.settling = true;
		}
	}

	void release(ClaimRequest claim) {
		Lease lease = this.running.get(claim.key());
		if (lease != null && lease.isOf(claim)) {
			this.running.remove(claim.key(), lease);
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
		else if (!lease.settling && this.running.remove(lease.claim.key(), lease)) {
			lost(lease);
		}
	}

	private static void lost(Lease lease) {
		lease.execution.loseOwnership();
		logger.warn("The lease of " + lease.claim.lease() + " expired while the handler was running, and another owner "
				+ "has the key now: " + lease.claim.key() + "; this execution can no longer record its outcome");
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

		boolean isOf(ClaimRequest request) {
			return this.claim.token().equals(request.token());
		}

		boolean isOlder(long now, int part) {
			return now - this.since >= this.claim.lease().toNanos() / part;
		}

	}

}
