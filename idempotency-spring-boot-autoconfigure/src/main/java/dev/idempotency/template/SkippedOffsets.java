/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.RateLimit;
import dev.idempotency.store.OffsetMark;

/**
 * Warns if records far below the mark of their partition are skipped. That is no ordinary
 * redelivery: the offsets of the group were reset, perhaps in order to process the
 * records again. At most one warning a minute for each partition.
 */
final class SkippedOffsets {

	// The number of offsets that an ordinary redelivery does not exceed: twice the
	// default of max.poll.records.
	static final long ORDINARY = 1000;

	private static final Log logger = LogFactory.getLog(SkippedOffsets.class);

	private static final int MAX_PARTITIONS = 10_000;

	private final RateLimit limit = new RateLimit(MAX_PARTITIONS, System::nanoTime);

	void report(OffsetMark mark, long previous) {
		long below = previous - mark.offset();
		if (this.limit.next(mark.scope() + " " + mark.topic() + " " + mark.partition()) < 0) {
			return;
		}
		String message = "Records are skipped as duplicates, beginning with the " + mark + ": " + below
				+ " offsets below the mark " + previous + " of the last processed record. ";
		if (below < ORDINARY) {
			logger.info(message + "That is usual after a failure or a rebalance. If the offsets of the consumer group "
					+ "were reset, lower the mark at the endpoint 'idempotency', too");
		}
		else {
			logger.warn(message
					+ "That is more than a redelivery after a failure. If the offsets of the consumer group were reset in order to process "
					+ "these records again, stop the listener, lower the mark with POST "
					+ "/actuator/idempotency/offsets/lower and the body {\"scope\":\"" + mark.scope()
					+ "\",\"topic\":\"" + mark.topic() + "\",\"partition\":" + mark.partition() + ",\"next\":"
					+ mark.offset() + "}, and reset the offsets again. Otherwise do nothing");
		}
	}

}
