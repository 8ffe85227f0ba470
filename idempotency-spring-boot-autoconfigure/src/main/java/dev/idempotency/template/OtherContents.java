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
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.RateLimit;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * The duplicates whose content differs from that of the operation for which their key
 * stands, and is only reported. They may be operations of their own, whose key does not
 * identify them.
 */
final class OtherContents {

	private static final Log logger = LogFactory.getLog(OtherContents.class);

	private static final int LAST = 20;

	private static final int MAX_LISTENERS = 1000;

	// A power of two.
	private static final int COMPLETED = 1024;

	// Some of the operations that this process has completed last, by the hash codes of
	// their keys. Those of which no duplicate is reported are left out, because their
	// origins may hold records.
	private final AtomicReferenceArray<@Nullable IdempotentOperation> completed = new AtomicReferenceArray<>(COMPLETED);

	private final Deque<OtherContent> last = new ArrayDeque<>();

	private final RateLimit limit = new RateLimit(MAX_LISTENERS, System::nanoTime);

	void ended(IdempotentOperation operation, Outcome outcome) {
		if (outcome == Outcome.OTHER_CONTENT) {
			report(operation);
		}
		else if ((outcome == Outcome.PROCESSED || outcome == Outcome.DECLINED)
				&& (Fingerprint.isReported(operation.fingerprint()) || Fingerprint.isSent(operation.fingerprint()))) {
			this.completed.lazySet(slot(operation.key()), operation);
		}
	}

	private static int slot(IdempotencyKey key) {
		return key.hashCode() & (COMPLETED - 1);
	}

	private void report(IdempotentOperation duplicate) {
		IdempotentOperation known = this.completed.get(slot(duplicate.key()));
		String first = (known != null && known.isSameAs(duplicate)) ? known.origin().toString() : null;
		add(new OtherContent(duplicate.name(), duplicate.key(), duplicate.origin().toString(), first, Instant.now()));
		long more = this.limit.next(duplicate.name());
		if (more >= 0) {
			logger.warn("A duplicate of " + duplicate.name()
					+ " has other content than the operation for which its key stands, and was not processed: "
					+ duplicate + ". The key was completed by "
					+ ((first != null) ? "the record of " + first : "a record that this process has not remembered")
					+ ". If both are operations of their own, add to the key what distinguishes them. If only a detail "
					+ "differs, such as the time of sending, declare the 'fingerprint' of @Idempotent, or set its "
					+ "'onOtherContent' to IGNORE" + ((more > 0) ? " (" + more + " more since the last warning)" : ""));
		}
	}

	private synchronized void add(OtherContent duplicate) {
		if (this.last.size() == LAST) {
			this.last.removeFirst();
		}
		this.last.addLast(duplicate);
	}

	synchronized List<OtherContent> last() {
		return List.copyOf(this.last);
	}

}
