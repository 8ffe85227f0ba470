/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.stream.Collectors;

import com.zaxxer.hikari.HikariDataSource;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;

/**
 * A table of the library with a given number of completed keys, in a database of its own.
 */
final class GrownTable implements AutoCloseable {

	private static final String TABLE = "idempotency_record";

	private static final String SCOPE = "payments/payment-listener";

	// A week of partitions of a day.
	private static final int PERIODS = 8;

	// A size must not change by more than this share while it is measured.
	private static final int TOLERANCE = 10;

	// The columns that differ between two records. All others, also those of later
	// versions, are copied from a record that the library has written.
	private static final Map<String, String> DIFFERING = Map.of("id", "gen_random_uuid()", "key",
			"'payment-' || gen_random_uuid()", "token", "CASE WHEN r.token IS NOT NULL THEN gen_random_uuid() END",
			"created_at", "now() - interval '7 days' * (1 - i / %1$d.0)", "completed_at",
			"now() - interval '7 days' * (1 - i / %1$d.0)", "expires_at",
			"now() + interval '1 hour' + interval '7 days' * (i / %1$d.0)", "period",
			"least(%2$d, 1 + (i - 1) / (%1$d / %2$d))");

	private final int size;

	private final int threads;

	private final HikariDataSource pool = new HikariDataSource();

	private final JdbcTemplate jdbc;

	private final JdbcIdempotencyStore store;

	private int added;

	/**
	 * Create a table.
	 */
	GrownTable(int size, Layout layout, String url, int threads) {
		this.size = size;
		this.threads = threads;
		this.pool.setJdbcUrl(url);
		this.pool.setMaximumPoolSize(threads + 1);
		this.jdbc = new JdbcTemplate(this.pool);
		JdbcSchemaMigration.migrate(this.pool, this.pool, TABLE, layout);
		this.store = new JdbcIdempotencyStore(this.pool, TABLE, Duration.ofSeconds(2), layout, Duration.ofDays(1),
				null);
		ClaimRequest request = request();
		this.store.claim(List.of(request));
		this.store.settle(List.of(new Ending.Completed(request, null)));
		this.jdbc.execute("CREATE TABLE template AS SELECT * FROM " + TABLE);
		if (layout == Layout.PARTITIONED) {
			openPeriods();
		}
		fill();
	}

	private void openPeriods() {
		while (number("SELECT count(*) FROM idempotency_record_period WHERE period = " + PERIODS
				+ " AND closing IS NULL") == 0) {
			this.jdbc.queryForObject("SELECT idempotency_record_rotate(0)", String.class);
		}
	}

	private void fill() {
		Map<String, String> columns = new LinkedHashMap<>();
		this.jdbc
			.queryForList("SELECT column_name FROM information_schema.columns WHERE table_name = ? "
					+ "AND table_schema = current_schema() ORDER BY ordinal_position", String.class, TABLE)
			.forEach((column) -> columns.put(column,
					DIFFERING.getOrDefault(column, "r." + column).formatted(this.size, PERIODS)));
		this.jdbc.execute("TRUNCATE " + TABLE);
		this.jdbc.execute("INSERT INTO %s (%s) SELECT %s FROM template r, generate_series(1, %d) i".formatted(TABLE,
				String.join(", ", columns.keySet()), String.join(", ", columns.values()), this.size));
		this.jdbc.execute("VACUUM (ANALYZE) " + TABLE);
		this.added = 0;
	}

	int size() {
		return this.size;
	}

	/**
	 * Claim new keys and measure.
	 */
	Figures claim(int claims, ExecutorService executor) throws SQLException {
		if (this.added > this.size / TOLERANCE) {
			fill();
		}
		this.added += claims;
		cacheIndex();
		this.jdbc.execute("CHECKPOINT");
		Counters before = counters();
		long start = System.nanoTime();
		List<CompletableFuture<Void>> running = new ArrayList<>();
		for (int i = 0; i < this.threads; i++) {
			running.add(CompletableFuture.runAsync(() -> claim(claims / this.threads), executor));
		}
		running.forEach(CompletableFuture::join);
		double seconds = (System.nanoTime() - start) / 1e9;
		Counters after = counters();
		double count = (double) claims / this.threads * this.threads;
		return new Figures(count / seconds, (after.wal() - before.wal()) / count,
				(after.images() - before.images()) / count, (after.hits() - before.hits()) / count,
				(after.reads() - before.reads()) / count);
	}

	private void claim(int claims) {
		for (int i = 0; i < claims; i++) {
			if (!(this.store.claim(List.of(request())).get(0) instanceof Claim.Acquired)) {
				throw new IllegalStateException("A new key could not be claimed");
			}
		}
	}

	private static ClaimRequest request() {
		return new ClaimRequest(IdempotencyKey.of(SCOPE, "payment-" + UUID.randomUUID()), UUID.randomUUID(), null,
				Duration.ofMinutes(1), Duration.ofDays(7));
	}

	// The claims of the other sizes have evicted it. In production, only one
	// table would be in use.
	private void cacheIndex() throws SQLException {
		try (Connection connection = this.pool.getConnection(); Statement statement = connection.createStatement()) {
			statement.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM " + TABLE
					+ " WHERE id >= '00000000-0000-0000-0000-000000000000'; RESET ALL");
		}
	}

	// A backend reports its counters with a delay unless it is asked to.
	private Counters counters() throws SQLException {
		List<Connection> connections = new ArrayList<>();
		for (int i = 0; i <= this.threads; i++) {
			connections.add(this.pool.getConnection());
		}
		for (Connection connection : connections) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("SELECT pg_stat_force_next_flush()");
			}
			connection.close();
		}
		return new Counters(number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
				number("SELECT wal_fpi FROM pg_stat_wal"), blocks("hit"), blocks("read"));
	}

	private long blocks(String kind) {
		return number(
				("SELECT sum(coalesce(heap_blks_%1$s, 0) + coalesce(idx_blks_%1$s, 0)) FROM pg_statio_user_tables "
						+ "WHERE relname LIKE '" + TABLE + "%%'")
					.formatted(kind));
	}

	/**
	 * Return the pages of the table and its indexes.
	 */
	Pages pages() {
		this.jdbc.execute("CHECKPOINT");
		long heap = number("SELECT sum(pg_relation_size(oid)) / 8192 FROM pg_class WHERE relkind = 'r' "
				+ "AND relname LIKE '" + TABLE + "%'");
		long indexes = number("SELECT sum(pg_relation_size(indexrelid)) / 8192 FROM pg_stat_user_indexes "
				+ "WHERE relname LIKE '" + TABLE + "%'");
		List<String> keys = this.jdbc.queryForList("SELECT i.indexrelid::regclass::text FROM pg_index i "
				+ "JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisprimary AND c.relkind = 'r' AND c.relname ~ '^"
				+ TABLE + "(_p\\d+)?$'", String.class);
		List<Long> levels = new ArrayList<>();
		int trees = 0;
		for (String key : keys) {
			List<Long> one = levels(key);
			trees += one.isEmpty() ? 0 : 1;
			for (int i = 0; i < one.size(); i++) {
				if (i < levels.size()) {
					levels.set(i, levels.get(i) + one.get(i));
				}
				else {
					levels.add(one.get(i));
				}
			}
		}
		return new Pages(heap, indexes, trees, levels);
	}

	// Read from the file, because pageinspect may not be installed. The special
	// space of a page of a B-tree, its last 16 bytes, contains the level in bytes
	// 8 to 11. Page 0 is not part of the tree.
	private List<Long> levels(String index) {
		return this.jdbc.query("""
				SELECT level, count(*) FROM (
				  SELECT get_byte(page, 8184) AS level FROM (
				    SELECT pg_read_binary_file(pg_relation_filepath('%1$s'), b * 8192, 8192) AS page
				    FROM generate_series(1, pg_relation_size('%1$s') / 8192 - 1) b) pages) levels
				GROUP BY level ORDER BY level""".formatted(index), (row, number) -> row.getLong(2));
	}

	private long number(String sql) {
		Long number = this.jdbc.queryForObject(sql, Long.class);
		return (number != null) ? number : 0;
	}

	@Override
	public void close() {
		this.store.close();
		this.pool.close();
	}

	private record Counters(long wal, long images, long hits, long reads) {

	}

	/**
	 * The figures of one window, all but the rate per claim.
	 *
	 * @param rate the claims per second
	 * @param wal the bytes of WAL
	 * @param images the full-page images in the WAL
	 * @param hits the blocks that were in the buffer cache of PostgreSQL
	 * @param reads the blocks that were not
	 */
	record Figures(double rate, double wal, double images, double hits, double reads) {

	}

	/**
	 * The pages of a table, 8 KiB each.
	 *
	 * @param heap the pages of the rows
	 * @param indexes the pages of all indexes
	 * @param trees the number of primary keys with rows, one for each filled partition
	 * @param levels the pages of the primary keys at each level, beginning with the
	 * leaves
	 */
	record Pages(long heap, long indexes, int trees, List<Long> levels) {

		long leaves() {
			return this.levels.get(0);
		}

		String describe() {
			return this.levels.stream()
				.map((pages) -> String.format(Locale.ROOT, "%,d", pages))
				.collect(Collectors.joining(" / "));
		}

		/**
		 * Scale the pages to a larger table. A level is added as long as the highest one
		 * has several pages in a tree.
		 */
		Pages times(int factor) {
			double fanOut = (this.levels.size() > 1) ? (double) leaves() / this.levels.get(1) : 200;
			List<Long> scaled = new ArrayList<>(List.of(leaves() * factor));
			while (scaled.get(scaled.size() - 1) > this.trees) {
				scaled.add(Math.max(this.trees, Math.round(scaled.get(scaled.size() - 1) / fanOut)));
			}
			return new Pages(this.heap * factor, this.indexes * factor, this.trees, scaled);
		}

	}

}
