package dev.idempotency;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/**
 * The transaction that what a handler does belongs to.
 *
 * @param definition the transaction that transactional mode begins or joins
 * @param deferral in leased mode, who gets the completion of a handler that has returned,
 * because a transaction of the caller decides whether it holds; {@code null} to record it
 * at once. It must not throw
 * @since 0.1.0
 */
public record Boundary(TransactionDefinition definition, @Nullable Consumer<PendingCompletion> deferral) {

	/**
	 * A transaction with default settings, if the mode needs one.
	 */
	public static final Boundary DEFAULT = of(new DefaultTransactionDefinition());

	/**
	 * The transaction of transactional mode.
	 * @param definition its settings
	 * @return the boundary
	 */
	public static Boundary of(TransactionDefinition definition) {
		return new Boundary(definition, null);
	}

	/**
	 * A transaction of the caller, in leased mode.
	 * @param deferral who gets completions
	 * @return the boundary
	 */
	public static Boundary deferred(Consumer<PendingCompletion> deferral) {
		return new Boundary(new DefaultTransactionDefinition(), deferral);
	}

}
