package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotencyListener.Execution;

/**
 * What surrounds operations, such as the diagnostic context of the log or the current
 * observation. It is told on the thread of each delivery and should be quick; what it
 * throws is logged and ignored.
 *
 * @since 0.1.0
 */
public interface OperationContext {

	/**
	 * The handling of an operation begins on this thread.
	 * @param operation the operation
	 * @return what ends with it, {@code null} if nothing does
	 */
	@Nullable Scope begin(IdempotentOperation operation);

	/**
	 * The handling of a batch begins on this thread.
	 * @param scope the scope of its keys
	 * @return what ends with it, {@code null} if nothing does
	 */
	default @Nullable Scope beginBatch(String scope) {
		return null;
	}

	/**
	 * What surrounds one delivery.
	 */
	interface Scope {

		/**
		 * The thread leaves the delivery. An asynchronous operation, and one of a Kafka
		 * transaction, may end later.
		 */
		void close();

		/**
		 * The operation has ended, on whatever thread. An asynchronous one is answered
		 * after that. Not for batches.
		 * @param execution what happened
		 */
		default void ended(Execution execution) {
		}

	}

}
