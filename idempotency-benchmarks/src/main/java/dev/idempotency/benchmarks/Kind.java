package dev.idempotency.benchmarks;

import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/**
 * A store, a mode, the protected listener and the listener that is its limit.
 */
enum Kind {

	/**
	 * The handler's writes and the record in one transaction.
	 */
	TRANSACTIONAL("transactional, PostgreSQL", "the same listener unprotected", "the same listener unprotected",
			Map.of("idempotency.store.type", "jdbc"), TransferListeners.class),

	/**
	 * A claim and a completion in PostgreSQL.
	 */
	LEASED("leased, PostgreSQL", "INSERT and UPDATE of a row, two commits", "SELECT by primary key",
			Map.of("idempotency.store.type", "jdbc"), RowListeners.class, RowLimit.class),

	/**
	 * A claim and a completion in Redis.
	 */
	REDIS("leased, Redis", "SET NX PX and SET PX", "GET", Map.of("idempotency.store.type", "redis"),
			RedisListeners.class) {

		@Override
		@Nullable String missing() {
			return ClassUtils.isPresent("dev.idempotency.redis.RedisIdempotencyStore", null) ? null
					: "the library has no Redis store";
		}

	},

	/**
	 * The transactions of a batch, and the records, in one transaction.
	 */
	TRANSACTIONAL_BATCH("transactional, PostgreSQL, batches of 500", "the same listener unprotected",
			"the same listener unprotected", Map.of("idempotency.store.type", "jdbc"), BatchTransferListeners.class),

	/**
	 * A batch beside single records, in PostgreSQL.
	 */
	LEASED_BATCH("leased, PostgreSQL, batches of 500", "the same for single records", "the same for single records",
			Map.of("idempotency.store.type", "jdbc"), BatchListeners.class),

	/**
	 * A batch beside single records, in Redis.
	 */
	REDIS_BATCH("leased, Redis, batches of 500", "the same for single records", "the same for single records",
			Map.of("idempotency.store.type", "redis"), BatchListeners.class),

	/**
	 * Completed keys in the memory of the process.
	 */
	CACHED("leased, PostgreSQL, cache", "an empty listener", "an empty listener",
			Map.of("idempotency.store.type", "jdbc", "idempotency.cache.enabled", "true"), EmptyListeners.class,
			EmptyListeners.Limit.class) {

		@Override
		boolean isEffective(double roundTrips) {
			return roundTrips < 0.5;
		}

	};

	private final String title;

	private final String limitOfNew;

	private final String limitOfDuplicate;

	private final Map<String, String> properties;

	private final Class<?>[] listeners;

	Kind(String title, String limitOfNew, String limitOfDuplicate, Map<String, String> properties,
			Class<?>... listeners) {
		this.title = title;
		this.limitOfNew = limitOfNew;
		this.limitOfDuplicate = limitOfDuplicate;
		this.properties = properties;
		this.listeners = listeners;
	}

	/**
	 * Why it cannot be measured.
	 * @return the reason, {@code null} if it can
	 */
	@Nullable String missing() {
		return null;
	}

	/**
	 * Whether what is to be measured happens.
	 * @param roundTrips to the store, per record of the protected listener
	 * @return whether the settings of this kind have an effect
	 */
	boolean isEffective(double roundTrips) {
		return true;
	}

	String title() {
		return this.title;
	}

	String limitOfNew() {
		return this.limitOfNew;
	}

	String limitOfDuplicate() {
		return this.limitOfDuplicate;
	}

	Map<String, String> properties() {
		return this.properties;
	}

	Class<?>[] listeners() {
		return this.listeners.clone();
	}

}
