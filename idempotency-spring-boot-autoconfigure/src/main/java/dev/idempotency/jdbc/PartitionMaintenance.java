/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Creates partitions in advance, switches to the next one after the interval, and drops
 * those in which all records have expired. Only one process does so at a time; other
 * processes skip it. A delay does no harm: records are added to the latest partition.
 */
record PartitionMaintenance(JdbcExecutor executor, TableName table, Duration interval) {

	private static final Log logger = LogFactory.getLog(PartitionMaintenance.class);

	// The steps are: create, close, open, create, close.
	private static final int STEPS = 5;

	private static final Duration MIN_INTERVAL = Duration.ofMillis(10);

	PartitionMaintenance {
		IdempotencyConfigurationException.check(interval.compareTo(MIN_INTERVAL) >= 0,
				"The partition interval of the table '" + table + "' is " + interval + ".",
				"Set 'idempotency.jdbc.partition-interval' to " + MIN_INTERVAL + " or more.");
	}

	// Expired records are deleted one by one only after this time. Their partition
	// would have been dropped by then if other records did not keep it alive.
	Duration patience() {
		return this.interval.multipliedBy(2);
	}

	// Each step commits: all processes must see its effect before the next step.
	void maintain() {
		try {
			int step = 0;
			while (step < STEPS && rotate() != null) {
				step++;
			}
			for (String dropped = drop(); dropped != null; dropped = drop()) {
				logger.info("Dropped the partition " + dropped + " of expired idempotency records");
			}
		}
		catch (OperationInProgressException ex) {
			logger.debug("The partitions of " + this.table + " are in use. The next cleanup tries again", ex);
		}
		catch (IdempotencyStoreRefusedException | IdempotencyStoreUnavailableException ex) {
			// Rows can still be deleted.
			logger.warn("The partitions of " + this.table + " could not be maintained. New records are added to the "
					+ "latest partition, and expired ones are deleted one by one. Make the user of the DataSource the owner "
					+ "of the table, with the right to create tables in its schema", ex);
		}
	}

	@Nullable String rotate() {
		return run("SELECT " + this.table + "_rotate(:interval)", Parameters.of("interval", this.interval.toMillis()));
	}

	@Nullable String drop() {
		return run("SELECT " + this.table + "_drop_dead()", Parameters.none());
	}

	private @Nullable String run(String function, Parameters parameters) {
		return this.executor.patient()
			.first(SqlStatement.of(function), parameters, (row) -> row.getString(1))
			.orElse(null);
	}

}
