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

	private final Map<IdempotencyKey, OwnedClaim> running = new ConcurrentHashMap<>();

	private final Looks looks;

	Leases(IdempotencyStore store, StoreCalls calls, ThreadFactory threads) {
		this.store = store;
		this.calls = calls;
		this.looks = new Looks(this::renew, threads);
	}

	/**
	 * Keep the lease of a claim until it is {@link #release released}. An older claim of
	 * the same key in this process has lost it.
	 * @param claim the claim
	 */
	void keep(OwnedClaim claim) {
		OwnedClaim older = this.running.put(claim.request().key(), claim);
		if (older != null && older.isRunning()) {
			lost(older);
		}
		try {
			this.looks.every(claim.request().lease().dividedBy(LOOKS));
		}
		catch (Error ex) {
			// The caller would not release it.
			this.running.remove(claim.request().key(), claim);
			throw ex;
		}
	}

	void release(OwnedClaim claim) {
		this.running.remove(claim.request().key(), claim);
	}

	/**
	 * Claim a key again that the store has forgotten.
	 * @param claim the claim
	 * @return {@link Settlement#SETTLED} or {@link Settlement#LOST}
	 */
	Settlement restore(OwnedClaim claim) {
		Settlement restored = this.calls.settle(StoreCall.RENEW, claim.operation(),
				() -> this.store.restore(claim.request(), claim.execution().claim()));
		if (restored == Settlement.SETTLED) {
			logger.warn("The idempotency store '" + this.store.name() + "' had forgotten a live claim, which was "
					+ "restored: " + claim.operation() + "; look at its eviction policy and its replication");
		}
		return restored;
	}

	private void renew() {
		long now = System.nanoTime();
		if (this.running.values().stream().noneMatch((claim) -> claim.isOlder(now, RENEWED_AFTER))) {
			return;
		}
		// Whatever is not quite due goes with it, so that all are due together next time.
		List<OwnedClaim> due = this.running.values().stream().filter((claim) -> claim.isOlder(now, LOOKS)).toList();
		List<ClaimRequest> claims = due.stream().map(OwnedClaim::request).toList();
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

	private void renewed(OwnedClaim claim, Settlement answer, long now) {
		Settlement settlement = answer;
		if (answer == Settlement.FORGOTTEN) {
			if (!claim.isWorthRestoring()) {
				return;
			}
			try {
				settlement = restore(claim);
			}
			catch (OperationBlockedException ex) {
				logger.debug("Not yet", ex);
				return;
			}
		}
		if (settlement == Settlement.SETTLED) {
			claim.renewed(now);
		}
		// While it is being settled the answer to that decides.
		else if (claim.isRunning() && this.running.remove(claim.request().key(), claim)) {
			lost(claim);
		}
	}

	private static void lost(OwnedClaim claim) {
		claim.lose();
		logger.warn("The lease of " + claim.request().lease() + " expired while the handler was running, and another "
				+ "owner has the key now: " + claim.operation() + "; this execution can no longer record its outcome");
	}

	/**
	 * Renew no more. Handlers that still run keep what is left of their leases.
	 */
	@Override
	public void close() {
		this.looks.close();
		if (!this.running.isEmpty()) {
			logger.warn(this.running.size() + " handlers are still running; their keys are free when their leases have "
					+ "expired");
		}
	}

}
