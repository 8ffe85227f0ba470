package dev.idempotency;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * The protocol of {@link Mode#LEASED}:
 * <ol>
 * <li>claim the key; whoever does not get it answers as a duplicate or comes again;</li>
 * <li>run the handler;</li>
 * <li>complete with the owner token, or fail with it when the handler threw.</li>
 * </ol>
 * A completion that the store did not take is remembered in memory and repeated, with the
 * same token, when the record is delivered again: as long as this process lives and
 * nobody else took the key over, an outage of the store does not run a handler twice.
 */
final class LeasedProtocol {

	private static final Log logger = LogFactory.getLog(LeasedProtocol.class);

	// One for each partition that waits, and those whose partition moved away meanwhile.
	private static final int MAX_UNSETTLED = 10_000;

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final Map<IdempotencyKey, Unsettled> unsettled = new ConcurrentHashMap<>();

	LeasedProtocol(IdempotencyStore store, StoreCalls calls) {
		this.store = store;
		this.calls = calls;
	}

	<T, E extends Throwable> Executed<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec) throws E {
		IdempotentOperation operation = attempt.operation();
		Unsettled left = this.unsettled.get(operation.key());
		if (left != null) {
			attempt.hasRun();
			settle(operation, left);
		}
		ClaimRequest request = operation.newRequest();
		Claim claim = this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request));
		if (!(claim instanceof Claim.Acquired acquired)) {
			return Answers.answer(operation, claim, codec);
		}
		IdempotentExecution execution = new IdempotentExecution(operation.key(), acquired);
		T result = run(attempt, execution, request);
		if (complete(operation, request, write(operation, result, codec)) == Settlement.LOST) {
			throw lost(operation, execution, null);
		}
		return new Executed<>(result, false);
	}

	private <T, E extends Throwable> @Nullable T run(Attempt<T, E> attempt, IdempotentExecution execution,
			ClaimRequest request) throws E {
		try {
			return attempt.run(execution);
		}
		catch (Throwable ex) {
			if (fail(attempt.operation(), request, ex) == Settlement.LOST) {
				throw lost(attempt.operation(), execution, ex);
			}
			throw ex;
		}
	}

	private Settlement fail(IdempotentOperation operation, ClaimRequest request, Throwable error) {
		Failure failure = Failure.of(error);
		try {
			return this.calls.call(StoreCall.FAIL, operation, () -> this.store.fail(request, failure));
		}
		catch (OperationBlockedException ex) {
			logger.warn("A failure could not be recorded, so the next attempt waits until the claim has run out: "
					+ operation, ex);
			return Settlement.SETTLED;
		}
	}

	private Settlement complete(IdempotentOperation operation, ClaimRequest request, byte @Nullable [] result) {
		try {
			return this.calls.call(StoreCall.COMPLETE, operation, () -> this.store.complete(request, result));
		}
		catch (OperationBlockedException ex) {
			if (this.unsettled.size() < MAX_UNSETTLED) {
				this.unsettled.put(operation.key(), new Unsettled(request, result));
			}
			logger.error("The handler has run, but its completion could not be recorded: " + operation
					+ "; it will be repeated when the record is delivered here again. If this process ends first, the "
					+ "handler runs once more after the lease of " + operation.lease(), ex);
			throw ex;
		}
	}

	// What came of it shows in the claim that follows.
	private void settle(IdempotentOperation operation, Unsettled left) {
		this.calls.call(StoreCall.COMPLETE, operation, () -> this.store.complete(left.request(), left.result()));
		this.unsettled.remove(operation.key(), left);
	}

	private static <T> byte @Nullable [] write(IdempotentOperation operation, @Nullable T result,
			ResultCodec<T> codec) {
		try {
			return codec.write(result);
		}
		catch (RuntimeException ex) {
			// The effect has happened: completing without a result beats running it
			// again.
			logger.error("The result cannot be stored, so duplicates will get none: " + operation
					+ "; make the result type serialisable", ex);
			return null;
		}
	}

	private static OwnershipLostException lost(IdempotentOperation operation, IdempotentExecution execution,
			@Nullable Throwable cause) {
		execution.loseOwnership();
		String message = "The claim ran out while the handler ran, and somebody else has the key now: " + operation
				+ "; nothing of this execution is recorded. Make the lease of " + operation.lease()
				+ " longer than the handler's longest run";
		logger.error(message);
		return new OwnershipLostException(message, cause);
	}

	private record Unsettled(ClaimRequest request, byte @Nullable [] result) {

	}

}
