/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.benchmarks.GrowthTables.Row;
import dev.idempotency.jdbc.Layout;

/**
 * Measures claims of new keys in tables with more and more existing keys, in both
 * layouts, and the heap of a consumer over some minutes of traffic.
 */
public final class GrowthBenchmark {

	private static final Path PAGE = Path.of("idempotency-benchmarks/target/growth.md");

	private final Settings settings;

	private final Servers servers;

	private final ExecutorService executor = Executors.newCachedThreadPool();

	private GrowthBenchmark(Settings settings, Servers servers) {
		this.settings = settings;
		this.servers = servers;
	}

	/**
	 * Run the benchmark.
	 * @param arguments settings, such as {@code rounds=5}
	 * @throws Exception if a process or a server fails
	 */
	public static void main(String[] arguments) throws Exception {
		Map<String, String> defaults = new LinkedHashMap<>();
		defaults.put("rounds", "5");
		defaults.put("sizes", "100000,1000000,10000000");
		defaults.put("layouts", "single,partitioned");
		defaults.put("claims", "10000");
		defaults.put("threads", "2");
		defaults.put("shared-buffers", "1GB");
		defaults.put("heap-minutes", "5");
		defaults.put("heap-rate", "500");
		Settings settings = Settings.parse(arguments, defaults);
		// A checkpoint or a vacuum during a window would hit one size only.
		try (Servers servers = Servers.start(Map.of("shared_buffers", settings.text("shared-buffers"), "max_wal_size",
				"64GB", "checkpoint_timeout", "1h", "autovacuum", "off"), Duration.ZERO)) {
			StringBuilder page = new StringBuilder();
			Machine.describe(servers)
				.lines()
				.forEach((name, value) -> page.append("- ").append(name).append(": ").append(value).append('\n'));
			page.append("- Settings: ").append(settings).append('\n');
			System.out.print(page);
			GrowthBenchmark benchmark = new GrowthBenchmark(settings, servers);
			for (String layout : settings.text("layouts").split(",")) {
				if (!layout.isEmpty()) {
					page.append(benchmark.measure(Layout.valueOf(layout.toUpperCase(Locale.ROOT))));
				}
			}
			if (settings.number("heap-minutes") > 0) {
				page.append(
						new HeapGrowth(servers, settings.number("heap-minutes"), settings.number("heap-rate")).run());
			}
			System.out.println("\n" + page);
			Files.writeString(PAGE, page);
			System.out.println("Written to " + PAGE);
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private String measure(Layout layout) throws SQLException, InterruptedException {
		List<GrownTable> tables = new ArrayList<>();
		try {
			for (int size : Arrays.stream(this.settings.text("sizes").split(","))
				.mapToInt(Integer::parseInt)
				.toArray()) {
				long start = System.nanoTime();
				tables.add(new GrownTable(size, layout,
						String.valueOf(this.servers.properties().get("spring.datasource.url")),
						this.settings.number("threads")));
				System.out.printf(Locale.ROOT, "%s, %,d keys: filled in %d s%n", layout, size,
						(System.nanoTime() - start) / 1_000_000_000);
			}
			Map<Integer, Row> rows = new LinkedHashMap<>();
			for (GrownTable table : tables) {
				rows.put(table.size(), new Row(table.size(), table.pages(), new ArrayList<>(), new ArrayList<>()));
			}
			// The first round warms up.
			for (int i = -1; i < this.settings.number("rounds"); i++) {
				Collections.rotate(tables, 1);
				for (GrownTable table : tables) {
					round(table, (i >= 0) ? rows.get(table.size()) : null, i + 1);
				}
			}
			return GrowthTables.of(layout, List.copyOf(rows.values()));
		}
		finally {
			tables.forEach(GrownTable::close);
		}
	}

	private void round(GrownTable table, @Nullable Row row, int number) throws SQLException, InterruptedException {
		GrownTable.Figures first = window(table, true);
		GrownTable.Figures later = window(table, false);
		System.out.printf(Locale.ROOT, "round %d: %,d keys: %s %s%n", number, table.size(), first, later);
		if (row != null) {
			row.first().add(first);
			row.later().add(later);
		}
	}

	// After a checkpoint, the first change of each page writes the whole page to
	// the WAL. Without these images, a claim costs the same as one long after a
	// checkpoint.
	private GrownTable.Figures window(GrownTable table, boolean images) throws SQLException, InterruptedException {
		this.servers.query("ALTER SYSTEM SET full_page_writes = " + (images ? "on" : "off"));
		this.servers.query("SELECT pg_reload_conf()");
		// The server reloads the setting asynchronously.
		Thread.sleep(500);
		return table.claim(this.settings.number("claims"), this.executor);
	}

}
