package dev.idempotency;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Converts results to what the store keeps, and a claim that was not acquired into a
 * replayed result or an exception.
 */
final class Answers {

	private static final Log logger = LogFactory.getLog(Answers.class);

	private Answers() {
	}

	static <T> Executed<T> answer(IdempotentOperation operation, Claim claim, ResultCodec<T> codec) {
		if (claim instanceof Claim.Completed completed) {
			return new Executed<>(read(operation, completed.result(), codec), true);
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

	static <T> byte @Nullable [] write(IdempotentOperation operation, @Nullable T result, ResultCodec<T> codec) {
		try {
			return codec.write(result);
		}
		catch (RuntimeException | LinkageError | StackOverflowError ex) {
			// The effect has happened: completing without a result beats running it
			// again.
			logger.error("The result cannot be stored, so duplicates will get none: " + operation
					+ "; make the result type serialisable", ex);
			return null;
		}
	}

	static <T> @Nullable T read(IdempotentOperation operation, byte @Nullable [] result, ResultCodec<T> codec) {
		if (result == null) {
			return null;
		}
		try {
			return codec.read(result);
		}
		catch (RuntimeException ex) {
			throw new StoredResultUnreadableException("The operation has completed, but its stored result of "
					+ result.length + " bytes cannot be read as the type that the handler declares: " + operation
					+ "; make the type read what its earlier version wrote", unquoted(ex));
		}
	}

	// Without the text, which may quote what was read or written.
	static Throwable unquoted(RuntimeException ex) {
		IllegalStateException cause = new IllegalStateException(ex.getClass().getName());
		cause.setStackTrace(ex.getStackTrace());
		return cause;
	}

}
