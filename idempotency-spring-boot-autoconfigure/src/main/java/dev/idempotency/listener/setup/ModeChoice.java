package dev.idempotency.listener.setup;

import java.util.function.BiFunction;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.interceptor.TransactionAttribute;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Mode;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * Chooses the mode of a listener method, and rejects modes that cannot work.
 *
 * @param template the template
 * @param foreignTransactions names the transaction manager of a method if it is not that
 * of the store
 */
record ModeChoice(IdempotencyTemplate template,
		BiFunction<TransactionAttribute, Class<?>, @Nullable String> foreignTransactions) {

	private static final Log logger = LogFactory.getLog(ModeChoice.class);

	Mode choose(Mode requested, String where, Class<?> targetClass, @Nullable TransactionAttribute attribute,
			ListenerShape shape) {
		Mode mode = decide(requested, where, targetClass, attribute, shape);
		String problem = this.template.leaseProblem();
		if (mode == Mode.LEASED && problem != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " uses leased mode, but " + problem + ".",
					"Use transactional mode or another store. For the JDBC store, name a DataSource that always leads to "
							+ "the same database with 'idempotency.jdbc.data-source'.");
		}
		return mode;
	}

	private Mode decide(Mode requested, String where, Class<?> targetClass, @Nullable TransactionAttribute attribute,
			ListenerShape shape) {
		boolean supported = this.template.supportsTransactions();
		if (requested == Mode.TRANSACTIONAL && !supported) {
			throw unsupported(where);
		}
		String problem = shape.transactionalProblem();
		if (supported && problem != null) {
			return leasedBecauseOfShape(requested, where, problem, shape);
		}
		String foreign = (supported && requested != Mode.LEASED && attribute != null)
				? this.foreignTransactions.apply(attribute, targetClass) : null;
		if (foreign != null) {
			String what = "The idempotent listener " + where + " has its own transactions in " + foreign
					+ ", which is not the transaction manager of the store";
			return leased(requested, what, "Use the store's transaction manager in @Transactional, or leased mode.",
					what);
		}
		Mode mode = (requested != Mode.AUTO) ? requested : (supported ? Mode.TRANSACTIONAL : Mode.LEASED);
		if (mode == Mode.TRANSACTIONAL) {
			checkTransaction(attribute, where);
		}
		return mode;
	}

	private void checkTransaction(@Nullable TransactionAttribute attribute, String where) {
		int propagation = (attribute != null) ? attribute.getPropagationBehavior()
				: TransactionDefinition.PROPAGATION_REQUIRED;
		boolean escapes = propagation == TransactionDefinition.PROPAGATION_REQUIRES_NEW
				|| propagation == TransactionDefinition.PROPAGATION_NOT_SUPPORTED
				|| propagation == TransactionDefinition.PROPAGATION_NEVER;
		if (escapes || (attribute != null && attribute.isReadOnly())) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " is transactional, but its own @Transactional "
							+ (escapes ? "suspends the transaction in which the record commits." : "is read-only."),
					"Remove the propagation or readOnly attribute, or use leased mode.");
		}
		int isolation = (attribute != null) ? attribute.getIsolationLevel() : TransactionDefinition.ISOLATION_DEFAULT;
		String problem = (this.template.store() instanceof TransactionalIdempotencyStore store)
				? store.isolationProblem(isolation) : null;
		if (problem != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " is transactional, but its transactions " + problem + ".",
					"Set the isolation of the DataSource (for Hikari 'spring.datasource.hikari.transaction-isolation') or "
							+ "of @Transactional to READ_COMMITTED, or 'idempotency.jdbc.layout' to 'single', or use "
							+ "leased mode.");
		}
	}

	private static Mode leasedBecauseOfShape(Mode requested, String where, String problem, ListenerShape shape) {
		String listener = "The idempotent listener " + where;
		return leased(requested, listener + " is configured for transactional mode, but it " + problem,
				shape.kafkaTransaction()
						? "Use leased mode, which completes after the Kafka transaction; or use a container factory "
								+ "without a Kafka transaction manager, and send the messages of the handler "
								+ "through the outbox."
						: "Use leased mode, or let the method return its result itself.",
				(requested == Mode.AUTO && shape.kafkaTransaction()) ? listener + " " + problem : null);
	}

	private static Mode leased(Mode requested, String refusal, String action, @Nullable String warning) {
		if (requested == Mode.TRANSACTIONAL) {
			throw new IdempotencyConfigurationException(refusal + ".", action);
		}
		if (warning != null) {
			logger.warn(warning + ", so it uses leased mode. Set the mode to LEASED if that is intended");
		}
		return Mode.LEASED;
	}

	private IdempotencyConfigurationException unsupported(String where) {
		String problem = "The idempotent listener " + where + " is configured for transactional mode, but the store '"
				+ this.template.name() + "' ";
		return (this.template.store() instanceof TransactionalIdempotencyStore)
				? new IdempotencyConfigurationException(problem + "has no transaction manager.",
						"Define a JdbcTransactionManager bean for the store's DataSource (Boot defines none when "
								+ "'spring.kafka.producer.transaction-id-prefix' is set), name one with "
								+ "'idempotency.jdbc.transaction-manager', or use leased mode.")
				: new IdempotencyConfigurationException(problem + "does not support transactions.",
						"Use leased mode, or the store in the database of the transaction: set "
								+ "'idempotency.store.type' to 'jdbc'.");
	}

}
