/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The duplicates whose content differs from that of the operation for which their key
 * stands, and is only reported. They may be operations of their own, whose key does not
 * identify them.
 */
final class OtherContents {

	private static final Log logger = LogFactory.getLog(OtherContents.class);

	private static final long INTERVAL = TimeUnit.MINUTES.toNanos(1);

	private static final int LAST = 20;

	// A power of two.
	private static final int COMPLETED = 1024;

	// Some of the operations that this process has completed last, by the hash codes of
	// their keys.
	private final AtomicReferenceArray<@Nullable IdempotentOperation> completed = new AtomicReferenceArray<>(COMPLETED);

	private final Deque<OtherContent> last = new ArrayDeque<>();

	private final Map<String, Warning> warnings = new HashMap<>();

	void completed(IdempotentOperation operation) {
		this.completed.lazySet(slot(operation.key()), operation);
	}

	private static int slot(IdempotencyKey key) {
		return key.hashCode() & (COMPLETED - 1);
	}

	synchronized void report(IdempotentOperation duplicate) {
		IdempotentOperation known = this.completed.get(slot(duplicate.key()));
		Object first = (known != null && known.isSameAs(duplicate)) ? known.origin() : null;
		if (this.last.size() == LAST) {
			this.last.removeFirst();
		}
		this.last.addLast(new OtherContent(duplicate.name(), duplicate.key(), duplicate.origin().toString(),
				(first != null) ? first.toString() : null, Instant.now()));
		Warning warning = this.warnings.computeIfAbsent(duplicate.name(), (name) -> new Warning());
		warning.count++;
		long now = System.nanoTime();
		if (warning.count == 1 || now - warning.since >= INTERVAL) {
			warning.since = now;
			logger.warn("A duplicate of " + duplicate.name()
					+ " has other content than the operation for which its key " + "stands, and was not processed: "
					+ duplicate + ". The key was completed "
					+ ((first != null) ? "by the record of " + first : "earlier or by another process")
					+ ". If both are operations of their own, add to the key what distinguishes them. If only a detail "
					+ "differs, such as the time of sending, declare the 'fingerprint' of @Idempotent, or set its "
					+ "'onOtherContent' to IGNORE (" + warning.count + " such duplicates since the start)");
		}
	}

	synchronized List<OtherContent> last() {
		return List.copyOf(this.last);
	}

	/**
	 * The number of duplicates of a listener, and the time of its last warning.
	 */
	private static final class Warning {

		private long count;

		private long since;

	}

}
