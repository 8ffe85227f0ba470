package dev.idempotency.template;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.StoreCall;

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

	// Claims of keys that a running claim with at least their fence has, by their tokens.
	private final Map<UUID, OwnedClaim> contested = new ConcurrentHashMap<>();

	private final Looks looks;

	Leases(IdempotencyStore store, StoreCalls calls, ThreadFactory threads) {
		this.store = store;
		this.calls = calls;
		this.looks = new Looks(this::renew, threads);
	}

	/**
	 * Keep the lease of a claim until it is {@link #release released}. A claim of the
	 * same key in this process that has a lower fence has lost it. If it has a higher
	 * one, the store decides at the next renewal: the answer to this claim was late, or
	 * the store has forgotten the other one.
	 * @param claim the claim
	 */
	void keep(OwnedClaim claim) {
		OwnedClaim other = this.running.put(claim.request().key(), claim);
		if (other != null && other.isRunning()) {
			if (other.execution().fence() < claim.execution().fence()) {
				lost(other);
			}
			else {
				this.contested.put(other.token(), other);
			}
		}
		try {
			this.looks.every(claim.request().lease().dividedBy(LOOKS));
		}
		catch (Error ex) {
			// The caller would not release it.
			release(claim);
			throw ex;
		}
	}

	void release(OwnedClaim claim) {
		remove(claim);
	}

	private boolean remove(OwnedClaim claim) {
		return this.running.remove(claim.request().key(), claim)
				|| (!this.contested.isEmpty() && this.contested.remove(claim.token(), claim));
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
		if (claims().noneMatch((claim) -> claim.isOlder(now, RENEWED_AFTER))) {
			return;
		}
		// Whatever is not quite due goes with it, so that all are due together next time.
		List<OwnedClaim> due = claims().filter((claim) -> claim.isOlder(now, LOOKS)).toList();
		List<OwnedClaim> together = due.stream().filter((claim) -> !claim.isRenewedAlone()).toList();
		List<OwnedClaim> alone = due.stream().filter(OwnedClaim::isRenewedAlone).toList();
		if (!together.isEmpty()) {
			renewTogether(together, now);
		}
		renewEach(alone, now);
	}

	private Stream<OwnedClaim> claims() {
		return Stream.concat(this.running.values().stream(), this.contested.values().stream());
	}

	private void renewTogether(List<OwnedClaim> due, long now) {
		List<ClaimRequest> claims = due.stream().map(OwnedClaim::request).toList();
		List<Settlement> answers;
		try {
			answers = this.calls.call(StoreCall.RENEW, claims.size() + " running handlers",
					() -> this.store.renewAll(claims));
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			logger.debug("One of them cannot be renewed now, and the store cannot say which", ex);
			renewEach(due, now);
			return;
		}
		catch (OperationBlockedException ex) {
			logger.debug("Not yet", ex);
			return;
		}
		for (int i = 0; i < answers.size(); i++) {
			renewed(due.get(i), answers.get(i), now);
		}
	}

	// One that is locked or unreadable is renewed alone from now on, so that it holds up
	// the others only once. Each of them may wait for a lock: the rest is renewed at the
	// next look.
	private void renewEach(List<OwnedClaim> due, long now) {
		long shortest = due.stream().mapToLong((claim) -> claim.request().lease().toNanos()).min().orElse(0);
		for (OwnedClaim claim : due) {
			try {
				renewed(claim,
						this.calls.call(StoreCall.RENEW, claim.operation(), () -> this.store.renew(claim.request())),
						now);
				claim.renewAlone(false);
			}
			catch (OperationInProgressException | IdempotencyRecordUnreadableException
					| IdempotencyStoreRefusedException ex) {
				claim.renewAlone(true);
				logger.debug("Not yet", ex);
			}
			catch (OperationBlockedException ex) {
				logger.debug("Not yet", ex);
				return;
			}
			if (System.nanoTime() - now > shortest / RENEWED_AFTER) {
				return;
			}
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
			if (settlement == Settlement.SETTLED && !claim.isWorthRestoring()) {
				releaseRestored(claim);
				return;
			}
		}
		if (settlement == Settlement.SETTLED) {
			claim.renewed(now);
		}
		// While it is being settled the answer to that decides.
		else if (claim.isRunning() && remove(claim)) {
			lost(claim);
		}
	}

	// Its handler has failed meanwhile, and the store did not know the key then.
	private void releaseRestored(OwnedClaim claim) {
		try {
			this.calls.settle(StoreCall.RELEASE, claim.operation(), () -> this.store.release(claim.request()));
		}
		catch (OperationBlockedException ex) {
			logger.warn("The claim of a handler that has failed was restored, and could not be released: "
					+ claim.operation() + "; the key is free when its lease has expired", ex);
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
