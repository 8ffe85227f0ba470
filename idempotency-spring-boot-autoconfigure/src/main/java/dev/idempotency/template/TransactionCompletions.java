package dev.idempotency.template;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Settlement;

/**
 * The completions of leased mode that wait for the outcome of the Spring transaction that
 * is active on this thread. They are recorded when it has committed, released when it has
 * been rolled back, also to a savepoint, and left to their leases when its outcome is
 * unknown. A transaction in which another owner has taken over one of the keys is not
 * committed.
 */
final class TransactionCompletions implements TransactionSynchronization {

	private static final Log logger = LogFactory.getLog(TransactionCompletions.class);

	private final AsyncSettlements owner;

	private final List<PendingCompletion> pending = new ArrayList<>();

	// How many there were by then.
	private final Map<Object, Integer> savepoints = new IdentityHashMap<>();

	private TransactionCompletions(AsyncSettlements owner) {
		this.owner = owner;
	}

	static boolean isTransactionActive() {
		return TransactionSynchronizationManager.isSynchronizationActive()
				&& TransactionSynchronizationManager.isActualTransactionActive();
	}

	/**
	 * Refuse a transaction that has no synchronization, such as that of a
	 * {@code KafkaTransactionManager}: whether it is committed or rolled back cannot be
	 * observed.
	 * @throws IllegalStateException if one is active on this thread
	 */
	static void checkObservable() {
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		for (Object resource : TransactionSynchronizationManager.getResourceMap().values()) {
			if (resource instanceof ResourceHolderSupport holder && holder.isSynchronizedWithTransaction()) {
				throw new IllegalStateException("A transaction without synchronization is active on this thread ("
						+ holder.getClass().getSimpleName() + "), so an operation in leased mode cannot wait for its "
						+ "outcome. Use an @Idempotent listener in a container with the Kafka transaction, or call it "
						+ "outside of the transaction");
			}
		}
	}

	/**
	 * The completions of the transaction on this thread.
	 * @param owner settles them
	 * @return the completions, {@code null} if no transaction is active
	 */
	static @Nullable TransactionCompletions current(AsyncSettlements owner) {
		if (!isTransactionActive()) {
			return null;
		}
		if (TransactionSynchronizationManager.getResource(owner) instanceof TransactionCompletions known) {
			return known;
		}
		TransactionCompletions completions = new TransactionCompletions(owner);
		completions.resume();
		TransactionSynchronizationManager.registerSynchronization(completions);
		return completions;
	}

	void add(PendingCompletion completion) {
		this.pending.add(completion);
	}

	/**
	 * Refuse the commit, also if the caller catches the exception: another owner has
	 * taken over an operation of this transaction.
	 * @param loss what the caller gets
	 */
	void lost(OwnershipLostException loss) {
		this.pending.add(new Lost(loss));
	}

	/**
	 * Look up what has completed in this transaction.
	 * @param key the key
	 * @param fingerprint the fingerprint of the content
	 * @return its completion, {@code null} if it has not completed with exactly this
	 * fingerprint
	 */
	Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		for (PendingCompletion completion : this.pending) {
			Claim.Completed known = completion.find(key, fingerprint);
			if (known != null) {
				return known;
			}
		}
		return null;
	}

	private static @Nullable DeferredCompletion deferred(PendingCompletion completion) {
		PendingCompletion inner = (completion instanceof ObservedCompletion observed) ? observed.delegate()
				: completion;
		return (inner instanceof DeferredCompletion deferred) ? deferred : null;
	}

	@Override
	public void suspend() {
		TransactionSynchronizationManager.unbindResource(this.owner);
	}

	@Override
	public void resume() {
		TransactionSynchronizationManager.bindResource(this.owner, this);
	}

	@Override
	public void savepoint(Object savepoint) {
		this.savepoints.put(savepoint, this.pending.size());
	}

	// One that is not known is older than the first completion.
	@Override
	public void savepointRollback(Object savepoint) {
		int from = this.savepoints.getOrDefault(savepoint, 0);
		List<PendingCompletion> undone = this.pending.subList(from, this.pending.size());
		end(List.copyOf(undone), false);
		undone.clear();
	}

	@Override
	public void beforeCommit(boolean readOnly) {
		for (PendingCompletion completion : this.pending) {
			if (completion instanceof Lost lost) {
				throw lost.reason();
			}
			DeferredCompletion deferred = deferred(completion);
			OwnedClaim lost = (deferred != null) ? deferred.lost() : null;
			if (lost != null) {
				throw Settlements.logged(lost.lost());
			}
		}
	}

	@Override
	public void afterCompletion(int status) {
		TransactionSynchronizationManager.unbindResourceIfPossible(this.owner);
		switch (status) {
			case STATUS_COMMITTED -> end(this.pending, true);
			case STATUS_ROLLED_BACK -> end(this.pending, false);
			default -> {
				this.pending.forEach(PendingCompletion::abandon);
				logger.warn("The outcome of the transaction of " + this.pending
						+ " is unknown; the keys are free when their leases have expired");
			}
		}
	}

	// This thread still holds the connection of the transaction. If it waited for another
	// one, the threads of a pool that is as large as their number would wait for each
	// other until leases expire.
	private void end(List<PendingCompletion> completions, boolean committed) {
		List<OwnedClaim> claims = completions.stream()
			.map(TransactionCompletions::deferred)
			.filter(Objects::nonNull)
			.flatMap((deferred) -> deferred.claims().stream())
			.toList();
		Consumer<PendingCompletion> how = committed ? PendingCompletion::complete : PendingCompletion::release;
		this.owner.settle(claims, committed, () -> endAll(completions, how));
	}

	private static void endAll(List<PendingCompletion> completions, Consumer<PendingCompletion> how) {
		for (PendingCompletion completion : completions) {
			try {
				how.accept(completion);
			}
			catch (RuntimeException | Error ex) {
				// The others have to end as well.
				logger.error("The end of a transaction could not be recorded for " + completion + "; it is retried",
						ex);
			}
		}
	}

	/**
	 * An operation that was lost while its handler was running.
	 *
	 * @param reason what its caller got
	 */
	private record Lost(OwnershipLostException reason) implements PendingCompletion {

		@Override
		public Settlement complete() {
			return Settlement.LOST;
		}

		@Override
		public void release() {
		}

		@Override
		public void abandon() {
		}

		@Override
		public Settlement outcome() {
			return Settlement.LOST;
		}

		@Override
		public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
			return null;
		}

	}

}
