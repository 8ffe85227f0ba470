package dev.idempotency.template;

import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/**
 * The transaction in which a handler runs.
 *
 * @param definition the transaction that transactional mode begins or joins
 * @param deferral in leased mode, who gets the completion of a handler that has returned,
 * because something else decides whether it holds: a transaction of the caller, or an
 * acknowledgment. {@code null} to record the completion at once, or after the commit of
 * the Spring transaction that is active on the thread
 * @param rollbackOnly in transactional mode, whether the handler that has just returned
 * on this thread wants what it wrote to be rolled back. The operation is then completed
 * without effect. Not asked when the transaction belongs to the caller, who decides
 * @since 0.1.0
 */
public record Boundary(TransactionDefinition definition, @Nullable Deferral deferral, BooleanSupplier rollbackOnly) {

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
		return of(definition, () -> false);
	}

	/**
	 * The transaction of transactional mode, whose handler may ask for a rollback.
	 * @param definition its settings
	 * @param rollbackOnly whether the handler that has just returned asks for it
	 * @return the boundary
	 */
	public static Boundary of(TransactionDefinition definition, BooleanSupplier rollbackOnly) {
		return new Boundary(definition, null, rollbackOnly);
	}

	/**
	 * A transaction of the caller, or an acknowledgment, in leased mode.
	 * @param deferral who gets completions
	 * @return the boundary
	 */
	public static Boundary deferred(Deferral deferral) {
		return new Boundary(new DefaultTransactionDefinition(), deferral, () -> false);
	}

}
