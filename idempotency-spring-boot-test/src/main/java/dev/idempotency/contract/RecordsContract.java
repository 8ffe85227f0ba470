/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Page;

/**
 * Helpers for the tests of {@link IdempotencyRecords}.
 */
interface RecordsContract extends StoreContract {

	IdempotencyRecords records();

	static String newScope() {
		return "records-" + UUID.randomUUID();
	}

	static IdempotencyKey newKey(String scope) {
		return IdempotencyKey.of(scope, UUID.randomUUID().toString());
	}

	/**
	 * Read all pages of a list.
	 */
	default List<IdempotencyRecord> all(Function<@Nullable String, Page> list) {
		Page page = list.apply(null);
		List<IdempotencyRecord> all = new ArrayList<>(page.records());
		while (page.next() != null) {
			page = list.apply(page.next());
			all.addAll(page.records());
		}
		return all;
	}

}
