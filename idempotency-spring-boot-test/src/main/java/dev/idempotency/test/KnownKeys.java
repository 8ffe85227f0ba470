package dev.idempotency.test;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;

/**
 * The keys that have been claimed in this context, with their stores. A test names a key
 * without its scope.
 */
final class KnownKeys {

	private final Map<IdempotencyKey, IdempotencyStore> stores = new ConcurrentHashMap<>();

	void add(IdempotencyKey key, IdempotencyStore store) {
		this.stores.putIfAbsent(key, store);
	}

	/**
	 * Return the keys with a value.
	 */
	List<IdempotencyKey> find(String value) {
		return this.stores.keySet().stream().filter((key) -> key.value().equals(value)).toList();
	}

	/**
	 * Return the store in which a key was claimed first.
	 */
	IdempotencyStore store(IdempotencyKey key) {
		IdempotencyStore store = this.stores.get(key);
		if (store == null) {
			throw new IllegalArgumentException("The " + key + " has not been claimed");
		}
		return store;
	}

	Optional<IdempotencyRecord> record(IdempotencyKey key) {
		return store(key).find(key);
	}

}
