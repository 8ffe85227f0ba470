/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * The position in each lane at which this instance begins to search for messages.
 * Published messages cannot leave the indexes while any transaction of the database has
 * an older snapshot, so a search from the beginning would read all of them each time.
 * <p>
 * A mark never passes a position that an open transaction may still fill. An insert takes
 * its position under a lock of the table. All positions up to one that was read are
 * therefore decided when every transaction that held that lock afterwards has ended. A
 * message that becomes pending again has a time for its next attempt, by which it is
 * found. A full search of one lane at a time finds rows that were changed by hand.
 */
final class OutboxMarks {

	private static final Duration INTERVAL = Duration.ofSeconds(1);

	// The interval for one lane. A round through all lanes takes about ten minutes.
	private static final Duration FULL_INTERVAL = Duration.ofSeconds(10);

	// After this time, a search without a result is abandoned.
	private static final Duration PATIENCE = Duration.ofSeconds(10);

	// The searches that follow each other without an interval, until the writers that
	// the first one found have ended.
	private static final int FIRST_LOOKS = 3;

	private static final String PREPARED = "-1/";

	private final LongSupplier nanos;

	private final Long[] from = new Long[OutboxSql.LANES];

	// Positions are valid for one server: another one may have lost the last of them.
	private String server = "";

	// Each message up to this position is visible or will never be.
	private long decided;

	// The next decided position, as soon as the open transactions have ended.
	private long candidate;

	private Set<String> open = Set.of();

	private long seen;

	private long number;

	private long nextLook;

	private long nextFullLook;

	// Whether a search has found the pending messages, which only a search from the
	// beginning does.
	private boolean known;

	private int fullLane = OutboxSql.LANES - 1;

	OutboxMarks(LongSupplier nanos) {
		this.nanos = nanos;
		Arrays.fill(this.from, 0L);
		this.nextLook = nanos.getAsLong();
		this.nextFullLook = this.nextLook;
	}

	// The parameters of statements that search from the marks on.
	synchronized Parameters parameters() {
		return Parameters.of("server", this.server).with("marks", "bigint", this.from.clone());
	}

	// Whether there are no marks yet and a search may find some. It is then run
	// before a round and not within it, so published messages are read once and not
	// by each statement of the round.
	synchronized boolean areMissing() {
		return needsMore() && this.nanos.getAsLong() - this.nextLook >= 0;
	}

	private boolean needsMore() {
		return !this.known && (this.decided > 0 || this.number < FIRST_LOOKS);
	}

	// Begin a search that moves the marks if the interval has passed. As long as no
	// position is decided it only reads positions and writers, and no messages.
	synchronized long begin(Parameters parameters) {
		long now = this.nanos.getAsLong();
		if (now - this.nextLook < 0) {
			return 0;
		}
		@Nullable Long[] starts = (this.decided > 0) ? this.from.clone() : new Long[this.from.length];
		if (this.decided > 0 && now - this.nextFullLook >= 0) {
			this.nextFullLook = now + FULL_INTERVAL.toNanos();
			this.fullLane = (this.fullLane + 1) % starts.length;
			starts[this.fullLane] = 0L;
		}
		parameters.with("starts", "bigint", starts);
		this.nextLook = now + PATIENCE.toNanos();
		return ++this.number;
	}

	// Run a search by itself if the interval has passed.
	void look(Connection connection, OutboxSql sql, String begin) throws SQLException {
		Parameters parameters = Parameters.none();
		long search = begin(parameters);
		if (search > 0) {
			try (PreparedStatement statement = sql.statement(begin + sql.look()).prepare(connection, parameters)) {
				learn(search, rows(statement, statement.execute()));
			}
		}
	}

	// The next rows of several statements that are sent as one.
	static ResultSet rows(PreparedStatement statement, boolean found) throws SQLException {
		boolean rows = found;
		while (!rows) {
			rows = statement.getMoreResults();
		}
		return statement.getResultSet();
	}

	synchronized void learn(long look, ResultSet row) throws SQLException {
		// A search that a later one has overtaken has older data.
		if (look == this.number && row.next()) {
			learn(row.getString(1), row.getLong(2), Set.of((String[]) row.getArray(3).getArray()),
					(Long[]) row.getArray(4).getArray());
		}
	}

	void learn(String current, long position, Set<String> writers, @Nullable Long[] first) {
		if (!current.equals(this.server) || position < this.seen) {
			Arrays.fill(this.from, 0L);
			this.server = current;
			this.decided = 0;
			this.candidate = 0;
			this.open = Set.of();
			this.known = false;
		}
		else if (this.decided > 0) {
			this.known = true;
			for (int lane = 0; lane < first.length; lane++) {
				this.from[lane] = (first[lane] != null) ? Math.min(first[lane], this.decided + 1) : this.decided + 1;
			}
		}
		this.seen = position;
		this.open = stillOpen(writers);
		if (this.open.isEmpty()) {
			this.decided = this.candidate;
			this.candidate = position;
			this.open = writers;
		}
		if (this.open.isEmpty()) {
			this.decided = position;
		}
		this.nextLook = this.nanos.getAsLong() + (needsMore() ? 0 : INTERVAL.toNanos());
	}

	// A prepared transaction continues under another name.
	private Set<String> stillOpen(Set<String> writers) {
		boolean ended = this.open.stream().anyMatch((id) -> !id.startsWith(PREPARED) && !writers.contains(id));
		return writers.stream()
			.filter((id) -> this.open.contains(id) || (ended && id.startsWith(PREPARED)))
			.collect(Collectors.toUnmodifiableSet());
	}

}
