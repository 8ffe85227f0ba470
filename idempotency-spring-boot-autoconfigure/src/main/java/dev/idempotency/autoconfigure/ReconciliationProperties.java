/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import dev.idempotency.reconcile.ReconciliationRequest;
import dev.idempotency.reconcile.ReconciliationStatus;

/**
 * Properties of the reconciliation from the command line. With {@code listener}, the
 * application compares the records of that listener with the store and exits.
 *
 * @param list Statuses of records to list besides the findings.
 * @param listener Id of the container or name of the method of the listener to reconcile.
 * When set, the application starts no listener and no web server, compares the records of
 * the listener's topics with the store, and exits.
 * @param to Timestamp of the first record that is left out. By default, the records that
 * exist when the run begins are read.
 * @param topic Topic to read. By default, all topics of the listener.
 * @param partition Partition to read. By default, all partitions.
 * @param from Timestamp of the first record. By default, the oldest record.
 * @param fromOffset Offset at which each partition begins.
 * @param limit Maximum number of records to read.
 * @param timeout Maximum duration of the run.
 * @param stuckAfter Time since its first claim after which an operation in progress is
 * stuck.
 * @param examine Whether completed keys are compared with the content of their record,
 * with one call of the store for each.
 * @param output File to which the listed records are written as comma-separated values.
 */
@ConfigurationProperties("idempotency.reconciliation")
record ReconciliationProperties(@DefaultValue Set<ReconciliationStatus> list, @Nullable String listener,
		@Nullable Instant to, @Nullable String topic, @Nullable Integer partition, @Nullable Instant from,
		@Nullable Long fromOffset, @DefaultValue("1000000") long limit, @DefaultValue("30m") Duration timeout,
		@DefaultValue("10m") Duration stuckAfter, @DefaultValue("true") boolean examine, @Nullable Path output) {

	// The annotation processor takes the first description whose name begins with that of
	// the property, so the shorter names come first.
	static final String PREFIX = "idempotency.reconciliation";

	ReconciliationRequest request() {
		return new ReconciliationRequest((this.listener != null) ? this.listener : "", this.topic, this.partition,
				this.from, this.fromOffset, this.to, this.limit, this.timeout, this.stuckAfter, this.examine,
				this.list);
	}

}
