/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.ToDoubleFunction;

import com.zaxxer.hikari.HikariDataSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.autoconfigure.IdempotencyProperties;
import dev.idempotency.benchmarks.CleanupLoad.Latencies;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.template.Observers;

/**
 * Measures the effect of the cleanup on a running load, with five million records of
 * which four million have expired. Windows without and with the cleanup alternate.
 */
public final class CleanupBenchmark {

	private static final String TABLE = "idempotency_record";

	private static final int THREADS = 4;

	private CleanupBenchmark() {
	}

	/**
	 * Run the benchmark.
	 * @param arguments settings of the cleanup, such as {@code pause=50ms}, instead of
	 * the defaults
	 * @throws IOException if a server does not start
	 */
	public static void main(String[] arguments) throws IOException {
		Map<String, String> properties = new LinkedHashMap<>();
		for (String argument : arguments) {
			int end = argument.indexOf('=');
			properties.put("idempotency.cleanup." + argument.substring(0, end), argument.substring(end + 1));
		}
		IdempotencyProperties.Cleanup cleanup = new Binder(new MapConfigurationPropertySource(properties))
			.bindOrCreate("idempotency", IdempotencyProperties.class)
			.cleanup();
		CleanupJob.Settings settings = new CleanupJob.Settings(cleanup.interval(), cleanup.timeBudget(),
				cleanup.batchSize(), cleanup.pause());
		ExecutorService executor = Executors.newCachedThreadPool();
		try (Servers servers = Servers.start(); HikariDataSource pool = new HikariDataSource()) {
			Machine.describe(servers).lines().forEach((name, value) -> System.out.println("- " + name + ": " + value));
			pool.setJdbcUrl(String.valueOf(servers.properties().get("spring.datasource.url")));
			pool.setMaximumPoolSize(THREADS + 2);
			JdbcSchemaMigration.migrate(pool, TABLE);
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(pool, TABLE, Duration.ofSeconds(2));
			fill(new JdbcTemplate(pool));
			System.out.println("\n" + settings
					+ "\n\n| load | without: operations/s | p50, p99 ms | during: operations/s | p50, p99 ms | p99: ratio (range) | deleted/s |\n|---|---|---|---|---|---|---|");
			for (int rate : new int[] { 100, 0 }) {
				measure(store, new CleanupLoad(store, THREADS, rate), settings, executor);
			}
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private static void fill(JdbcTemplate jdbc) {
		jdbc.execute("""
				INSERT INTO idempotency_record
				  (id, scope, key, state, fence, attempt, token, created_at, expires_at)
				SELECT gen_random_uuid(), 'benchmark', 'payment-' || i, 'C', 1, 1, gen_random_uuid(),
				  now() - interval '14 days' + i * interval '240 ms',
				  now() - interval '11 days 2 h 40 min' + i * interval '240 ms'
				FROM generate_series(1, 5000000) i""");
		jdbc.execute("VACUUM ANALYZE idempotency_record");
		jdbc.execute("CHECKPOINT");
		System.out.println("- Records: " + jdbc.queryForObject("SELECT count(*) FROM idempotency_record", Long.class)
				+ ", of which expired: "
				+ jdbc.queryForObject("SELECT count(*) FROM idempotency_record WHERE expires_at <= now()", Long.class));
	}

	private static void measure(JdbcIdempotencyStore store, CleanupLoad load, CleanupJob.Settings settings,
			ExecutorService executor) {
		load.run(executor, Duration.ofSeconds(5));
		List<Latencies> without = new ArrayList<>();
		List<Latencies> during = new ArrayList<>();
		List<Double> deleted = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			without.add(load.run(executor, Duration.ofSeconds(8)));
			CleanupJob job = new CleanupJob(store, settings, Observers.none());
			long start = System.nanoTime();
			CompletableFuture<Integer> running = CompletableFuture.supplyAsync(job::runOnce, executor);
			during.add(load.run(executor, Duration.ofSeconds(8)));
			if (running.isDone()) {
				throw new IllegalStateException("The cleanup found no expired records. Increase the number of records");
			}
			job.stop();
			deleted.add(running.join() / ((System.nanoTime() - start) / 1e9));
		}
		List<Double> ratios = new ArrayList<>();
		for (int i = 0; i < without.size(); i++) {
			ratios.add(during.get(i).millis(0.99) / without.get(i).millis(0.99));
		}
		System.out.println(String.format(Locale.ROOT,
				"| %d threads, %s | %.0f | %.2f, %.2f | %.0f | %.2f, %.2f | **%.2f** (%.2f–%.2f) | %.0f |",
				load.threads(),
				(load.rate() > 0) ? load.threads() * load.rate() + " operations/s" : "as many as they can",
				median(without, Latencies::rate), median(without, (one) -> one.millis(0.5)),
				median(without, (one) -> one.millis(0.99)), median(during, Latencies::rate),
				median(during, (one) -> one.millis(0.5)), median(during, (one) -> one.millis(0.99)),
				median(ratios, Double::doubleValue),
				ratios.stream().mapToDouble(Double::doubleValue).min().orElseThrow(),
				ratios.stream().mapToDouble(Double::doubleValue).max().orElseThrow(),
				median(deleted, Double::doubleValue)));
	}

	private static <T> double median(List<T> values, ToDoubleFunction<T> figure) {
		return values.stream().mapToDouble(figure).sorted().skip(values.size() / 2).findFirst().orElseThrow();
	}

}
