package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.StoredResultUnreadableException;
import dev.idempotency.store.Claim;

/**
 * Converts a claim that was not acquired into a replayed result or an exception.
 */
final class Answers {

	private Answers() {
	}

	static <T> IdempotentResult<T> answer(IdempotentOperation operation, Claim claim, ResultCodec<T> codec) {
		if (claim instanceof Claim.Completed completed) {
			return new IdempotentResult<>(read(operation, completed.result(), codec), true);
		}
		if (claim instanceof Claim.InProgress inProgress) {
			throw new OperationInProgressException(
					"Somebody else processes " + operation
							+ "; the record will be delivered again until that has completed, failed or run out",
					inProgress.retryAfter());
		}
		throw new IdempotencyKeyReusedException(
				"Known with other content: " + operation + "; the producer must use a new key for a new operation");
	}

	static <T> @Nullable T read(IdempotentOperation operation, byte @Nullable [] result, ResultCodec<T> codec) {
		if (result == null) {
			return null;
		}
		try {
			return codec.read(result);
		}
		catch (RuntimeException | LinkageError | StackOverflowError ex) {
			throw new StoredResultUnreadableException("The operation has completed, but its stored result of "
					+ result.length + " bytes cannot be read as the type that the handler declares: " + operation
					+ "; correct the type so that it reads what is stored, and send the record again", ex);
		}
	}

}
