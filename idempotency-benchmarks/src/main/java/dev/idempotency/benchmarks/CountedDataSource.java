/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Counts statements, commits and rollbacks. Connections are wrapped only while counting
 * is enabled, because it takes time.
 */
final class CountedDataSource extends DelegatingDataSource implements RoundTrips {

	private static final Set<String> ENDS = Set.of("commit", "rollback");

	private final AtomicLong count = new AtomicLong();

	private final DataSource counting;

	private volatile boolean enabled;

	CountedDataSource(DataSource target) {
		super(target);
		this.counting = ProxyDataSourceBuilder.create(target)
			.afterQuery((execution, queries) -> this.count.addAndGet(queries.size()))
			.afterMethod((execution) -> {
				if (execution.getTarget() instanceof Connection && ENDS.contains(execution.getMethod().getName())) {
					this.count.incrementAndGet();
				}
			})
			.build();
	}

	@Override
	public Connection getConnection() throws SQLException {
		return this.enabled ? this.counting.getConnection() : super.getConnection();
	}

	@Override
	public void start() {
		this.count.set(0);
		this.enabled = true;
	}

	@Override
	public long stop() {
		this.enabled = false;
		return this.count.get();
	}

}
