/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * A duration that applies to a listener, and its source.
 *
 * @param attribute the attribute of the annotation, which is the name of the property too
 * @param value the duration
 * @param annotated whether the annotation sets it
 */
record DurationSetting(String attribute, Duration value, boolean annotated) {

	private static final Log logger = LogFactory.getLog(DurationSetting.class);

	private static final Duration MIN_LEASE = Duration.ofSeconds(1);

	// Databases hold times until the year 9999.
	private static final Duration MAX_RETENTION = Duration.ofDays(36_500);

	private static final int MIN_STORE_TIMEOUTS = 5;

	// Format a duration like 7d or 1h30m.
	static String text(Duration duration) {
		return DurationFormatterUtils.print(duration, DurationFormat.Style.COMPOSITE);
	}

	static void check(DurationSetting lease, DurationSetting retention, String where) {
		if (lease.value.compareTo(MIN_LEASE) < 0) {
			throw lease.mistake(where, "shorter than " + text(MIN_LEASE),
					"Set it to " + text(MIN_LEASE) + " or more." + lease.unit("'30s' for 30 seconds"));
		}
		if (retention.value.compareTo(MAX_RETENTION) > 0) {
			throw retention.mistake(where, "longer than 36500d",
					"Set it to a hundred years (36500d) or less." + retention.unit("'7d' for 7 days"));
		}
		if (retention.value.compareTo(lease.value) > 0) {
			return;
		}
		if (lease.annotated && !retention.annotated) {
			throw lease.mistake(where, "not shorter than its retention of " + retention,
					"Set the lease to less than the retention. Seconds to minutes are usual: a running handler renews it.");
		}
		throw retention.mistake(where, "not longer than its lease of " + lease,
				"Set the retention to more than the lease, and to more than the topic keeps its records."
						+ retention.unit("'7d' for 7 days"));
	}

	// Warn if a lease is short compared to the timeout of the store. The duration of
	// the handler does not matter, because a running handler renews its lease.
	static void warnIfShort(Duration lease, Duration storeTimeout, String where) {
		Duration least = storeTimeout.multipliedBy(MIN_STORE_TIMEOUTS);
		if (lease.compareTo(least) < 0) {
			logger.warn("The lease of the idempotent listener " + where + ", " + text(lease)
					+ ", is shorter than five times 'idempotency.store.timeout', " + text(storeTimeout)
					+ ": a slow store renews it too late, and another consumer may process the record a second time. "
					+ "Set 'idempotency.lease', or 'lease' of @Idempotent, to " + text(least)
					+ " or more, or shorten 'idempotency.store.timeout'");
		}
	}

	private IdempotencyConfigurationException mistake(String where, String problem, String action) {
		return new IdempotencyConfigurationException(
				"The " + this.attribute + " of the idempotent listener " + where + " is " + this + ", " + problem + ".",
				action);
	}

	// So short a duration is most likely a number whose unit was forgotten.
	private String unit(String example) {
		return (this.value.compareTo(MIN_LEASE) < 0)
				? " A number without a unit is milliseconds: write " + example + "." : "";
	}

	@Override
	public String toString() {
		return text(this.value) + " ("
				+ (this.annotated ? "'" + this.attribute + "' of @Idempotent" : "'idempotency." + this.attribute + "'")
				+ ")";
	}

}
