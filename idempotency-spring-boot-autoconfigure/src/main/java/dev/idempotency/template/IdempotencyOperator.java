package dev.idempotency.template;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener.Intervention;

/**
 * What people may see of the operations of an {@link IdempotencyTemplate}, and do to
 * them. Whatever is done is logged and told to the {@link IdempotencyListener}. The
 * circuit breaker is neither asked nor told.
 *
 * @since 0.1.0
 */
public final class IdempotencyOperator {

	private static final Log logger = LogFactory.getLog(IdempotencyOperator.class);

	private final IdempotencyStore store;

	private final LocalCompletions cache;

	private final Settlements settlements;

	private final IdempotencyListener listener;

	IdempotencyOperator(IdempotencyStore store, LocalCompletions cache, Settlements settlements,
			IdempotencyListener listener) {
		this.store = store;
		this.cache = cache;
		this.settlements = settlements;
		this.listener = listener;
	}

	/**
	 * The store in use.
	 * @return the store
	 */
	public IdempotencyStore store() {
		return this.store;
	}

	/**
	 * The records of the store.
	 * @return the records, if the store can tell of more than one key
	 */
	public Optional<IdempotencyRecords> records() {
		return this.store.records();
	}

	/**
	 * The completions that the store did not take yet, of this process.
	 * @return what happened to them
	 */
	public List<UnrecordedCompletion> unrecorded() {
		return this.settlements.completions();
	}

	/**
	 * Release a key, see {@link IdempotencyRecords#release}.
	 * @param key the key
	 * @param force whether to take it from a claim that is alive
	 * @param who who asks for it, if that is known
	 * @return what came of it
	 */
	public Change release(IdempotencyKey key, boolean force, @Nullable String who) {
		return change(Intervention.RELEASE, key, force, who, (records) -> records.release(key, force));
	}

	/**
	 * Delete a record, see {@link IdempotencyRecords#evict}.
	 * @param key the key
	 * @param force whether to delete a claim that is alive
	 * @param who who asks for it, if that is known
	 * @return what came of it
	 */
	public Change evict(IdempotencyKey key, boolean force, @Nullable String who) {
		return change(Intervention.EVICT, key, force, who, (records) -> records.evict(key, force));
	}

	private Change change(Intervention intervention, IdempotencyKey key, boolean force, @Nullable String who,
			Function<IdempotencyRecords, Change> action) {
		IdempotencyRecords records = records().orElseThrow(() -> new IllegalStateException("The idempotency store '"
				+ this.store.name() + "' has no IdempotencyRecords; change its records yourself"));
		String what = intervention.describe((force ? "(forced) " : "") + "of the " + key, who);
		boolean done = false;
		try {
			Change change = (!force && this.settlements.hasCompletion(key)) ? Change.PENDING
					: changed(key, action, records);
			done = (change == Change.DONE);
			if (done) {
				logger.warn("Intervention: " + what);
			}
			else {
				logger.info("Refused: " + what + "; the record is " + change.name().toLowerCase(Locale.ROOT));
			}
			return change;
		}
		catch (RuntimeException ex) {
			logger.warn("Nobody knows what came of the " + what + "; look at the record", ex);
			throw ex;
		}
		finally {
			this.listener.intervened(intervention, done);
		}
	}

	private Change changed(IdempotencyKey key, Function<IdempotencyRecords, Change> action,
			IdempotencyRecords records) {
		this.cache.remove(key);
		return action.apply(records);
	}

}
