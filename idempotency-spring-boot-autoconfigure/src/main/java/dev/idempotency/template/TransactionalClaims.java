/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;

/**
 * What the transactions of one delivery claim in transactional mode: the records of keys,
 * or the marks of partitions. The items of a batch may need both.
 */
interface TransactionalClaims {

	// Take over those of the items that are of this kind. Needs no connection.
	void ask(List<Item> unanswered);

	// Claim the items in the current transaction. Returns false if one of them has a
	// record, so that the claim has to be repeated in a new transaction.
	boolean claim(boolean joined, boolean insert);

	// Claim the items one by one, and block those that cannot be claimed now. Returns
	// false if the transaction may contain the claim of a blocked item.
	boolean claimEach();

	// Claim and complete items in the current transaction, which has no other effect.
	void completeWithoutEffect(List<Item> done);

	// What the current transaction has claimed for the items, to be settled after its
	// rollback.
	Claimed claimed(List<Item> items);

	/**
	 * Claims of a transaction that was rolled back, unless the handler has committed it.
	 */
	interface Claimed {

		boolean isEmpty();

		// Record a failure. Returns the items that are completed or have another owner.
		List<Item> fail(Throwable error);

		// Undo the completions that a handler has committed itself, if it has.
		void undo();

	}

}
