package dev.idempotency;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyListener.StoreCall;

/**
 * The protocol of {@link Mode#LEASED}:
 * <ol>
 * <li>claim the key; whoever does not get it answers as a duplicate or comes again;</li>
 * <li>run the handler, while its lease is renewed;</li>
 * <li>complete with the owner token, or fail with it when the handler threw.</li>
 * </ol>
 * What the store did not take is remembered in memory, see {@link LooseEnds}.
 */
final class LeasedProtocol {

	private static final Log logger = LogFactory.getLog(LeasedProtocol.class);

	private final IdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Leases leases;

	private final LooseEnds looseEnds;

	LeasedProtocol(IdempotencyStore store, StoreCalls calls, CompletionCache cache, Leases leases,
			LooseEnds looseEnds) {
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.leases = leases;
		this.looseEnds = looseEnds;
	}

	<T, E extends Throwable> Executed<T> execute(Attempt<T, E> attempt, ResultCodec<T> codec) throws E {
		IdempotentOperation operation = attempt.operation();
		this.looseEnds.settle(attempt);
		this.calls.permit(operation);
		ClaimRequest request = operation.newRequest();
		long start = System.nanoTime();
		Claim claim = claim(operation, request);
		if (!(claim instanceof Claim.Acquired acquired)) {
			if (claim instanceof Claim.Completed completed) {
				this.cache.add(operation.key(), operation.fingerprint(), completed.result(), operation.retention());
			}
			return Answers.answer(operation, claim, codec);
		}
		IdempotentExecution execution = new IdempotentExecution(operation.key(), acquired);
		this.leases.keep(request, execution, start);
		try {
			T result = run(attempt, execution, request);
			byte[] bytes = write(operation, result, codec);
			if (complete(operation, request, bytes) == Settlement.LOST) {
				throw lost(operation, execution, null);
			}
			this.cache.add(operation.key(), operation.fingerprint(), bytes, operation.retention());
			return new Executed<>(result, false);
		}
		finally {
			this.leases.release(request);
		}
	}

	private Claim claim(IdempotentOperation operation, ClaimRequest request) {
		try {
			return this.calls.call(StoreCall.CLAIM, operation, () -> this.store.claim(request));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// It may have been made all the same.
			this.looseEnds.add(StoreCall.RELEASE, operation, request.token(), () -> this.store.release(request));
			throw ex;
		}
	}

	private <T, E extends Throwable> @Nullable T run(Attempt<T, E> attempt, IdempotentExecution execution,
			ClaimRequest request) throws E {
		try {
			return attempt.run(execution);
		}
		catch (Throwable ex) {
			this.leases.settling(request);
			if (fail(attempt.operation(), request, ex) == Settlement.LOST) {
				throw lost(attempt.operation(), execution, ex);
			}
			throw ex;
		}
	}

	private Settlement fail(IdempotentOperation operation, ClaimRequest request, Throwable error) {
		Failure failure = Failure.of(error);
		try {
			return this.calls.settle(StoreCall.FAIL, operation, () -> this.store.fail(request, failure));
		}
		catch (OperationBlockedException ex) {
			this.looseEnds.add(StoreCall.FAIL, operation, request.token(), () -> this.store.fail(request, failure));
			logger.warn("A failure could not be recorded; that will be repeated until it is, or the claim has run out: "
					+ operation, ex);
			return Settlement.SETTLED;
		}
	}

	private Settlement complete(IdempotentOperation operation, ClaimRequest request, byte @Nullable [] result) {
		this.leases.settling(request);
		try {
			return this.calls.settle(StoreCall.COMPLETE, operation, () -> this.store.complete(request, result));
		}
		catch (OperationBlockedException ex) {
			this.looseEnds.add(StoreCall.COMPLETE, operation, request.token(),
					() -> this.store.complete(request, result));
			logger.error("The handler has run, but its completion could not be recorded: " + operation
					+ "; that will be repeated until it is. If this process ends first, the handler runs once more "
					+ "after the lease of " + operation.lease(), ex);
			throw ex;
		}
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
		String message = "The claim ran out while the handler ran, and somebody else has the key now, or the store has "
				+ "forgotten it: " + operation + "; nothing of this execution is recorded. If the process or the store "
				+ "stood still for longer than the lease of " + operation.lease() + ", make it longer than that";
		logger.error(message);
		return new OwnershipLostException(message, cause);
	}

}
