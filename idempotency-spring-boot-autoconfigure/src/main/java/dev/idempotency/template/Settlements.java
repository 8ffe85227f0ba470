package dev.idempotency.template;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.OwnedClaim.Ending;

/**
 * Settles the claims of leased mode, whoever asks for it: a handler that has returned, a
 * signal, the transaction of the caller. A completion that the store does not take is
 * pending: its lease is still renewed, and it is retried when the record is redelivered
 * here, as soon as any call of the store succeeds, and now and then in between. So an
 * outage runs no handler twice, as long as this process lives and no other owner has
 * taken the key over. Failures and releases are retried as well, but their leases are
 * left to expire.
 * <p>
 * A key that the store has forgotten is claimed again, with the same fencing token, and
 * then completed, unless another owner has claimed it meanwhile.
 */
final class Settlements implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(Settlements.class);

	// Of claims to be released, of which an outage may leave any number. There are no
	// more completions and failures than handlers that were running.
	private static final int MAX_RELEASES = 1000;

	private static final Duration LAST_TRY = Duration.ofSeconds(10);

	// The last try gives a store up that has not answered so many calls in a row within
	// this time. One that refuses some claims at once is asked for all of them.
	private static final int SILENT_CALLS = 3;

	private static final Duration SILENCE = Duration.ofSeconds(2);

	private static final Duration QUEUED_WAIT = Duration.ofSeconds(1);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Leases leases;

	private final IdempotencyListener listener;

	private final Map<UUID, OwnedClaim> pending = new ConcurrentHashMap<>();

	// Settlements that wait for a thread.
	private final Map<IdempotencyKey, Queued> queued = new ConcurrentHashMap<>();

	// The store was unavailable for a pending one, and no call has succeeded since.
	private final AtomicBoolean waiting = new AtomicBoolean();

	private final AtomicBoolean answered = new AtomicBoolean();

	private final Looks looks;

	Settlements(IdempotencyStore store, StoreCalls calls, CompletionCache cache, Leases leases,
			IdempotencyListener listener, ThreadFactory threads) {
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.leases = leases;
		this.listener = listener;
		this.looks = new Looks(this::settleDue, threads);
		calls.onSuccess(this::storeAnswered);
	}

	/**
	 * Keep the lease of a claim until it is settled or {@link #leave left}.
	 * @param operation what was claimed
	 * @param request the request
	 * @param acquired the answer
	 * @param since when the claim was made, by {@link System#nanoTime()}
	 * @return the claim
	 */
	OwnedClaim keep(IdempotentOperation operation, ClaimRequest request, Claim.Acquired acquired, long since) {
		OwnedClaim claim = new OwnedClaim(operation, request, acquired, since);
		this.leases.keep(claim);
		return claim;
	}

	/**
	 * Renew a lease no more, unless the completion of its claim is pending.
	 * @param claim the claim
	 */
	void leave(OwnedClaim claim) {
		if (!claim.isPending() || !claim.isCompletion()) {
			this.leases.release(claim);
		}
	}

	/**
	 * Record completions.
	 * @param subject what they are about
	 * @param claims the claims
	 * @param results the result of each
	 * @return for each claim {@link Settlement#SETTLED}, or {@link Settlement#LOST} if
	 * another owner has the key
	 * @throws OperationBlockedException if the store did not take them; they are pending
	 */
	List<Settlement> complete(Object subject, List<OwnedClaim> claims, List<byte @Nullable []> results) {
		for (int i = 0; i < claims.size(); i++) {
			claims.get(i).settling(Ending.completed(results.get(i)));
		}
		return settle(StoreCall.COMPLETE, subject, claims);
	}

	/**
	 * Record a completion.
	 * @param claim the claim
	 * @param result its result
	 * @throws OwnershipLostException if another owner has the key
	 * @throws OperationBlockedException if the store did not take it; it is pending
	 */
	void complete(OwnedClaim claim, byte @Nullable [] result) {
		claim.settling(Ending.completed(result));
		if (settle(StoreCall.COMPLETE, claim.operation(), List.of(claim)).get(0) == Settlement.LOST) {
			throw logged(claim.lost());
		}
	}

	/**
	 * Record the failure of a handler. If the store does not take it, that is retried.
	 * @param subject what it is about
	 * @param claims the claims
	 * @param error why the handler failed
	 * @return for each claim {@link Settlement#SETTLED}, or {@link Settlement#LOST} if
	 * another owner has the key
	 */
	List<Settlement> fail(Object subject, List<OwnedClaim> claims, Throwable error) {
		Ending failed = Ending.failed(error);
		claims.forEach((claim) -> claim.settling(failed));
		return settleOrRetry(StoreCall.FAIL, subject, claims);
	}

	/**
	 * Record the failure of a handler.
	 * @param claim the claim
	 * @param error why it failed
	 * @throws OwnershipLostException if another owner has the key
	 */
	void fail(OwnedClaim claim, Throwable error) {
		if (fail(claim.operation(), List.of(claim), error).get(0) == Settlement.LOST) {
			throw logged(claim.lost(error));
		}
	}

	/**
	 * Release keys. It does not matter whether another owner has one of them by now.
	 * @param subject what they are about
	 * @param claims the claims
	 */
	void release(Object subject, List<OwnedClaim> claims) {
		claims.forEach((claim) -> claim.settling(Ending.RELEASED));
		settleOrRetry(StoreCall.RELEASE, subject, claims);
	}

	/**
	 * Release a key of which it is unknown whether it was acquired, as soon as the store
	 * is available.
	 * @param operation what was to be claimed
	 * @param request the request
	 */
	void releaseLater(IdempotentOperation operation, ClaimRequest request) {
		OwnedClaim unclear = new OwnedClaim(operation, request, new Claim.Acquired(0, 0), System.nanoTime());
		unclear.settling(Ending.RELEASED);
		retryLater(unclear);
	}

	private List<Settlement> settleOrRetry(StoreCall call, Object subject, List<OwnedClaim> claims) {
		try {
			return settle(call, subject, claims);
		}
		catch (OperationBlockedException ex) {
			return claims.stream().map((claim) -> Settlement.SETTLED).toList();
		}
	}

	private List<Settlement> settle(StoreCall call, Object subject, List<OwnedClaim> claims) {
		List<Settlement> answers;
		try {
			answers = ask(call, subject, claims);
		}
		catch (OperationBlockedException | Error ex) {
			if (call == StoreCall.COMPLETE) {
				logger.error("The handler has completed, but its completion could not be recorded: " + subject
						+ "; it is retried until it is recorded, and its lease is kept. If this process ends first, the "
						+ "handler runs once more", ex);
			}
			else if (ex instanceof OperationBlockedException) {
				logger.warn("The " + ((call != StoreCall.FAIL) ? "release" : "failure")
						+ " could not be recorded; it is retried until it is, or the claim has expired: " + subject,
						ex);
			}
			claims.forEach(this::retryLater);
			throw ex;
		}
		for (int i = 0; i < claims.size(); i++) {
			ended(claims.get(i), answers.get(i));
		}
		return answers;
	}

	// Settled or lost for each.
	private List<Settlement> ask(StoreCall call, Object subject, List<OwnedClaim> claims) {
		List<Settlement> answers = this.calls.settle(call, subject, () -> send(call, claims));
		if (!answers.contains(Settlement.FORGOTTEN)) {
			return answers;
		}
		List<Settlement> known = new ArrayList<>(answers);
		for (int i = 0; i < known.size(); i++) {
			if (known.get(i) == Settlement.FORGOTTEN) {
				// A key that is free needs no failure and no release.
				known.set(i, (call == StoreCall.COMPLETE) ? restoreAndComplete(claims.get(i)) : Settlement.SETTLED);
			}
		}
		return known;
	}

	private Settlement restoreAndComplete(OwnedClaim claim) {
		if (this.leases.restore(claim) == Settlement.LOST) {
			return Settlement.LOST;
		}
		Settlement settlement = this.calls.settle(StoreCall.COMPLETE, claim.operation(),
				() -> send(StoreCall.COMPLETE, List.of(claim)).get(0));
		if (settlement == Settlement.FORGOTTEN) {
			throw new IdempotencyStoreUnavailableException(
					"The idempotency store '" + this.store.name() + "' has forgotten a claim that was just restored: "
							+ claim.operation() + "; look at its eviction policy",
					null);
		}
		return settlement;
	}

	private List<Settlement> send(StoreCall call, List<OwnedClaim> claims) {
		if (claims.size() == 1) {
			OwnedClaim claim = claims.get(0);
			Ending ending = claim.ending();
			return List.of(switch (call) {
				case COMPLETE -> this.store.complete(claim.request(), ending.result());
				case FAIL -> this.store.fail(claim.request(), Objects.requireNonNull(ending.failure()));
				default -> this.store.release(claim.request());
			});
		}
		List<ClaimRequest> requests = claims.stream().map(OwnedClaim::request).toList();
		return switch (call) {
			case COMPLETE -> this.store.completeAll(
					claims.stream().map((claim) -> new Completion(claim.request(), claim.ending().result())).toList());
			case FAIL -> this.store.failAll(requests, Objects.requireNonNull(claims.get(0).ending().failure()));
			default -> this.store.releaseAll(requests);
		};
	}

	private void ended(OwnedClaim claim, Settlement settlement) {
		claim.ended(settlement);
		this.leases.release(claim);
		if (claim.isCompletion() && settlement == Settlement.SETTLED) {
			IdempotentOperation operation = claim.operation();
			this.cache.add(operation.key(), operation.fingerprint(), claim.ending().result(), operation.retention());
		}
	}

	private void retryLater(OwnedClaim claim) {
		claim.pending();
		if (!claim.isCompletion()) {
			this.leases.release(claim);
		}
		if (claim.isRelease() && this.pending.size() >= MAX_RELEASES) {
			return;
		}
		// Before it can be settled.
		if (claim.isCompletion()) {
			this.listener.completionFailed(claim.operation().name(), claim.operation().key());
		}
		this.pending.put(claim.token(), claim);
		this.waiting.set(true);
		try {
			this.looks.every(Duration.ofSeconds(1));
		}
		catch (Error ex) {
			// The caller has more to add, and an error of its own to report.
			logger.error("No thread could be started that retries pending settlements; that is tried again with the "
					+ "next one. Look at the limits of the process", ex);
		}
	}

	List<UnrecordedCompletion> completions() {
		return this.pending.values().stream().filter(OwnedClaim::isCompletion).map(OwnedClaim::unrecorded).toList();
	}

	boolean hasCompletion(IdempotencyKey key) {
		return this.pending.values()
			.stream()
			.anyMatch((claim) -> claim.isCompletion() && claim.operation().key().equals(key));
	}

	boolean isEmpty() {
		return this.pending.isEmpty() && this.queued.isEmpty();
	}

	/**
	 * Let the next claim of a key wait for a settlement that has not begun, or make it.
	 * @param claims the claims to be settled
	 * @param completed whether they are to be completed
	 * @param settlement settles them, and throws nothing
	 * @return the same, which runs once
	 */
	Runnable queue(List<OwnedClaim> claims, boolean completed, Runnable settlement) {
		Queued task = new Queued(settlement, completed);
		claims.forEach((claim) -> this.queued.put(claim.operation().key(), task));
		return () -> {
			task.run();
			claims.forEach((claim) -> this.queued.remove(claim.operation().key(), task));
		};
	}

	private void settleQueued(IdempotencyKey key, Runnable hasRun) {
		Queued task = this.queued.get(key);
		if (task == null) {
			return;
		}
		if (task.completed) {
			hasRun.run();
		}
		// The claim needs a connection as well, so that this adds no other wait.
		task.run();
		try {
			task.get(QUEUED_WAIT.toMillis(), TimeUnit.MILLISECONDS);
			this.queued.remove(key, task);
		}
		catch (TimeoutException | ExecutionException ex) {
			logger.debug("It is still being settled: " + key, ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Retry what is pending of earlier deliveries. The outcome shows in the claim that
	 * follows.
	 * @param operation what is delivered now
	 * @param hasRun called if a handler has run for it in this process
	 * @throws OperationBlockedException if the store still does not take it
	 */
	void settlePending(IdempotentOperation operation, Runnable hasRun) {
		settleQueued(operation.key(), hasRun);
		if (this.pending.isEmpty()) {
			return;
		}
		this.pending.values()
			.stream()
			.filter((claim) -> claim.operation().key().equals(operation.key()))
			.sorted(Comparator.comparing((claim) -> claim.ending().call()))
			.forEach((claim) -> {
				if (claim.isCompletion()) {
					hasRun.run();
				}
				this.calls.permit(operation);
				retry(claim, false);
			});
	}

	// Called after every call of the store that has succeeded, on the thread of the
	// caller.
	private void storeAnswered() {
		if (this.waiting.get() && this.waiting.compareAndSet(true, false)) {
			this.answered.set(true);
			this.looks.now();
		}
	}

	private void settleDue() {
		this.pending.values().removeIf(OwnedClaim::isPointless);
		boolean storeAnswers = this.answered.getAndSet(false);
		if (storeAnswers) {
			this.pending.values().forEach(OwnedClaim::dueNow);
		}
		// One of them may be the probe of the circuit breaker.
		retryAll((claim) -> claim.isDue() && (this.calls.isPermitted() || storeAnswers), storeAnswers);
	}

	/**
	 * Retry everything a last time, whatever the circuit breaker thinks.
	 */
	void settleLast() {
		long start = System.nanoTime();
		long answered = start;
		int unavailable = 0;
		for (OwnedClaim claim : this.pending.values()) {
			long now = System.nanoTime();
			if (now - start > LAST_TRY.toNanos()
					|| (unavailable >= SILENT_CALLS && now - answered > SILENCE.toNanos())) {
				return;
			}
			if (retryQuietly(claim, false)) {
				unavailable = 0;
				answered = System.nanoTime();
			}
			else {
				unavailable++;
			}
		}
	}

	// One that cannot be settled now does not hold up the others, unless the store is
	// down.
	private void retryAll(Predicate<OwnedClaim> when, boolean storeAnswers) {
		for (OwnedClaim claim : this.pending.values()) {
			if (when.test(claim) && !retryQuietly(claim, storeAnswers)) {
				return;
			}
		}
	}

	// Whether the store was available.
	private boolean retryQuietly(OwnedClaim claim, boolean storeAnswers) {
		try {
			retry(claim, storeAnswers);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			logger.debug("Still pending", ex);
			return false;
		}
		catch (OperationBlockedException ex) {
			logger.debug("Still pending", ex);
		}
		catch (Error ex) {
			logger.error("A pending settlement could not be retried: " + claim
					+ "; that is tried again while this process lives", ex);
		}
		return true;
	}

	private void retry(OwnedClaim claim, boolean storeAnswers) {
		Settlement settlement;
		// A redelivery and the thread that retries do not ask for the same.
		claim.lock().lock();
		try {
			if (!this.pending.containsKey(claim.token())) {
				return;
			}
			settlement = ask(claim.ending().call(), claim.operation(), List.of(claim)).get(0);
			this.pending.remove(claim.token(), claim);
		}
		catch (OperationBlockedException | Error ex) {
			claim.failed(storeAnswers || ex instanceof IdempotencyStoreRefusedException);
			this.waiting.set(true);
			throw ex;
		}
		finally {
			claim.lock().unlock();
		}
		ended(claim, settlement);
		if (claim.isRelease()) {
			return;
		}
		if (claim.isCompletion()) {
			this.listener.completionSettled(claim.operation().name(), claim.operation().key(), settlement);
		}
		claim.notifyObserver(settlement);
		if (settlement == Settlement.SETTLED) {
			logger.info("A pending settlement has been recorded: " + claim);
		}
		else {
			logger.error("A pending settlement was too late: " + claim + "; another owner has taken the key over"
					+ (claim.isCompletion() ? ", so the operation may take effect twice" : ""));
		}
	}

	static OwnershipLostException logged(OwnershipLostException lost) {
		logger.error(lost.getMessage());
		return lost;
	}

	@Override
	public void close() {
		this.looks.close();
		settleLast();
	}

	private static final class Queued extends FutureTask<@Nullable Void> {

		private final boolean completed;

		Queued(Runnable settlement, boolean completed) {
			super(settlement, null);
			this.completed = completed;
		}

	}

}
