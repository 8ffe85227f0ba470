/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.migration;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.OffsetMarks.StoredMark;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * Copies the marks of processed offsets to the store to which keys move. There is one for
 * each partition, so all are copied before the first record is processed. A partition
 * without new records then keeps its mark when the migration ends.
 *
 * @since 0.1.0
 */
public final class OffsetMarkCopy {

	private static final Log logger = LogFactory.getLog(OffsetMarkCopy.class);

	private OffsetMarkCopy() {
	}

	/**
	 * Return the marks of a store.
	 * @param store the store
	 * @return its marks, empty if it cannot store any
	 */
	public static Optional<OffsetMarks> marks(IdempotencyStore store) {
		return (store instanceof TransactionalIdempotencyStore transactional) ? transactional.offsetMarks()
				: Optional.empty();
	}

	/**
	 * Copy the marks, or warn that they cannot be stored. A mark of the target that is
	 * not lower stays.
	 * @param name the name of the source
	 * @param source the store that has the marks
	 * @param target the store to which they are copied
	 * @param transactions the transaction manager of the target, {@code null} if there is
	 * none
	 */
	public static void copy(String name, IdempotencyStore source, IdempotencyStore target,
			@Nullable PlatformTransactionManager transactions) {
		List<StoredMark> known = marks(source).map(OffsetMarkCopy::all).orElse(List.of());
		OffsetMarks marks = marks(target).orElse(null);
		if (known.isEmpty()) {
			return;
		}
		if (marks == null || transactions == null) {
			logger.warn("The store '" + name + "' has marks of processed offsets in the scopes "
					+ known.stream().map(StoredMark::scope).distinct().map((scope) -> "'" + scope + "'").toList()
					+ ", and the store to which its keys move cannot store marks. If a listener of these scopes moves "
					+ "to it, records without a key that it has processed take effect again when they are redelivered. "
					+ "Let such a listener keep its store: set 'store' of @Idempotent to '" + name + "'");
			return;
		}
		Map<UUID, Long> offsets = new HashMap<>();
		all(marks).forEach((mark) -> offsets.put(mark(mark).id(), mark.offset()));
		// A mark that need not be raised is not locked: another instance may use it.
		List<OffsetMark> higher = known.stream()
			.map(OffsetMarkCopy::mark)
			.filter((mark) -> offsets.getOrDefault(mark.id(), OffsetMarks.NONE) < mark.offset())
			.toList();
		TransactionTemplate transaction = new TransactionTemplate(transactions);
		higher.forEach((mark) -> transaction.executeWithoutResult((status) -> marks.raise(List.of(mark), false)));
		logger.info("The marks of processed offsets of " + higher.size() + " partitions were copied from the store '"
				+ name + "'");
	}

	private static List<StoredMark> all(OffsetMarks marks) {
		return marks.list(Integer.MAX_VALUE);
	}

	private static OffsetMark mark(StoredMark stored) {
		return new OffsetMark(stored.scope(), stored.topic(), stored.topicId(), stored.partition(), stored.offset());
	}

}
