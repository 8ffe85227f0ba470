/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

	private final Set<IdempotencyStore> all = ConcurrentHashMap.newKeySet();

	void add(IdempotencyStore store) {
		this.all.add(store);
	}

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

	/**
	 * Return the records of a key in all scopes of all stores, whoever has written them.
	 */
	List<IdempotencyRecord> records(String value) {
		Map<IdempotencyKey, IdempotencyRecord> found = new LinkedHashMap<>();
		find(value).forEach((key) -> found.putAll(store(key).find(List.of(key))));
		for (IdempotencyStore store : this.all) {
			store.records()
				.stream()
				.flatMap((records) -> records.overview().scopes().stream())
				.map((scope) -> IdempotencyKey.of(scope.name(), value))
				.forEach((key) -> store.find(List.of(key)).forEach(found::putIfAbsent));
		}
		return List.copyOf(found.values());
	}

}
