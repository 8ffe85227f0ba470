/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.template.BatchHandler;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;

/**
 * Measures batches in PostgreSQL in which some records always fail. The handler names the
 * record at which it fails, and the record is given up, as by an error handler that
 * publishes it as a dead letter. The records behind it are delivered again.
 */
public final class FailingBatches {

	private static final Path PAGE = Path.of("idempotency-benchmarks/target/failing.md");

	private static final String TABLE = "idempotency_record";

	private static final int PERCENT = 100;

	private final int size;

	private final JdbcTemplate jdbc;

	private final IdempotencyTemplate template;

	private FailingBatches(int size, HikariDataSource pool) {
		this.size = size;
		this.jdbc = new JdbcTemplate(pool);
		this.jdbc.execute("CREATE TABLE effect (payment varchar(100) NOT NULL)");
		JdbcSchemaMigration.migrate(pool, pool, TABLE, Layout.SINGLE);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(pool, TABLE, Duration.ofSeconds(2));
		this.template = new IdempotencyTemplate(store,
				new IdempotencyTemplate.Settings(new JdbcTransactionManager(pool), false, Observers.none()));
	}

	/**
	 * Run the benchmark.
	 * @param arguments settings, such as {@code rounds=5}
	 * @throws Exception if a server fails
	 */
	public static void main(String[] arguments) throws Exception {
		Map<String, String> defaults = new LinkedHashMap<>();
		defaults.put("rounds", "5");
		defaults.put("size", "100");
		defaults.put("records", "20000");
		defaults.put("percent", "0,1,10");
		Settings settings = Settings.parse(arguments, defaults);
		try (Servers servers = Servers.start(); HikariDataSource pool = new HikariDataSource()) {
			pool.setJdbcUrl(String.valueOf(servers.properties().get("spring.datasource.url")));
			FailingBatches benchmark = new FailingBatches(settings.number("size"), pool);
			String page = benchmark.measure(settings);
			Files.writeString(PAGE, page, StandardCharsets.UTF_8);
			System.out.println(page);
			benchmark.template.close();
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private String measure(Settings settings) {
		int records = settings.number("records");
		List<Integer> percents = List.of(settings.text("percent").split(",")).stream().map(Integer::valueOf).toList();
		Map<Mode, Map<Integer, List<Double>>> rates = new EnumMap<>(Mode.class);
		for (int round = -1; round < settings.number("rounds"); round++) {
			for (Mode mode : List.of(Mode.TRANSACTIONAL, Mode.LEASED)) {
				for (int percent : percents) {
					double rate = run(mode, percent, records);
					// The first round warms up.
					if (round >= 0) {
						rates.computeIfAbsent(mode, (any) -> new TreeMap<>())
							.computeIfAbsent(percent, (any) -> new ArrayList<>())
							.add(rate);
					}
				}
			}
			System.out.printf("round %d of %d%n", round + 1, settings.number("rounds"));
		}
		StringBuilder page = new StringBuilder("| batches of " + this.size
				+ ", PostgreSQL | records that fail | records/s (range) | to none |\n|---|---|---|---|\n");
		rates.forEach((mode, all) -> {
			double first = Sample.of(all.getOrDefault(percents.get(0), List.of())).median();
			all.forEach((percent,
					rate) -> page.append(String.format(Locale.ROOT, "| %s | %d %% | %s | %.2f |%n",
							mode.name().toLowerCase(Locale.ROOT), percent, Sample.of(rate).format("%,.0f"),
							Sample.of(rate).median() / first)));
		});
		return page.toString();
	}

	private double run(Mode mode, int percent, int records) {
		this.jdbc.execute("TRUNCATE effect");
		this.jdbc.execute("TRUNCATE " + TABLE);
		List<BatchItem> all = new ArrayList<>();
		for (int i = 0; i < records; i++) {
			boolean fails = percent > 0 && i % (PERCENT / percent) == PERCENT / percent / 2;
			String key = (fails ? "fails " : "payment ") + UUID.randomUUID();
			all.add(new BatchItem(this.template.operation("payments", key).mode(mode).build(), 0));
		}
		long start = System.nanoTime();
		int next = 0;
		while (next < records) {
			List<BatchItem> batch = all.subList(next, Math.min(records, next + this.size));
			BatchResult<Void> result = this.template.executeAll(batch, ResultCodec.none(), new Handler(batch));
			next += (result.failedAt() >= 0) ? result.failedAt() + 1 : batch.size();
		}
		double seconds = (System.nanoTime() - start) / 1e9;
		Integer effects = this.jdbc.queryForObject("SELECT count(*) FROM effect", Integer.class);
		if (effects == null || (mode == Mode.TRANSACTIONAL && effects != records - records * percent / PERCENT)) {
			throw new IllegalStateException(effects + " effects of " + records + " records");
		}
		return records / seconds;
	}

	/**
	 * Inserts a row for each record before the first one that fails.
	 */
	private final class Handler implements BatchHandler<Void> {

		private final List<BatchItem> batch;

		private int failedAt;

		Handler(List<BatchItem> batch) {
			this.batch = batch;
		}

		@Override
		public @Nullable List<@Nullable Void> handle(List<Integer> due) {
			List<Object[]> rows = new ArrayList<>();
			this.failedAt = -1;
			for (int i = 0; i < due.size() && this.failedAt < 0; i++) {
				IdempotencyKey key = key(due.get(i));
				if (key.value().startsWith("fails")) {
					this.failedAt = i;
				}
				else {
					rows.add(new Object[] { key.value() });
				}
			}
			if (!rows.isEmpty()) {
				FailingBatches.this.jdbc.batchUpdate("INSERT INTO effect VALUES (?)", rows);
			}
			if (this.failedAt >= 0) {
				throw new IllegalStateException("This record always fails");
			}
			return null;
		}

		private IdempotencyKey key(int index) {
			return Objects.requireNonNull(this.batch.get(index).operation()).key();
		}

		@Override
		public int failedAt(Throwable error) {
			return this.failedAt;
		}

	}

}
