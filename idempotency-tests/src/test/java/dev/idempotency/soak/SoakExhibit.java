/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import org.awaitility.Awaitility;
import org.springframework.jdbc.core.JdbcTemplate;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;
import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RedisServer;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

/**
 * An application with a listener of each kind works for two hours. What grows is measured
 * every half minute.
 */
public final class SoakExhibit implements Exhibit {

	private static final int MINUTES = Integer.getInteger("evidence.soak.minutes", 120);

	private static final int PER_SECOND = Integer.getInteger("evidence.soak.rate", 50);

	private static final Duration PERIOD = Duration.ofSeconds(30);

	private static final Duration PATIENCE = Duration.ofMinutes(10);

	// The growth within an hour that counts as none: a step of a buffer, a page, a class
	// that was loaded late.
	private static final Map<String, Double> TOLERATED = Map.of("heap after full collections, bytes", 1e6,
			"metaspace, bytes", 5e5, "direct buffers, bytes", 5e5, "loaded classes", 50.0, "threads", 1.0,
			"file descriptors", 2.0, "connections of the pool", 1.0, "meters", 0.5);

	// A part of the mean, for tables that are vacuumed and for the memory of Redis.
	private static final double TOLERATED_OF_STORES = 0.05;

	private static final List<String> TABLES = List.of("idempotency_record", "idempotency_outbox");

	@Override
	public String name() {
		return "soak/all-kinds-of-listeners";
	}

	@Override
	public Section section() {
		return Section.SOAK;
	}

	@Override
	public String title() {
		return "Five listeners (single, batch, asynchronous, leased, versions), PostgreSQL, Redis, the outbox";
	}

	@Override
	public Finding run(long seed) throws Exception {
		String topic = Servers.newTopic("soak", SoakTraffic.PARTITIONS);
		Servers.addTopics(SoakTraffic.PARTITIONS, SoakListeners.charged(topic));
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		jdbc.execute("CREATE TABLE effect (listener text, payment bigint)");
		jdbc.execute("CREATE TABLE balance (account text PRIMARY KEY, version bigint) WITH (fillfactor = 50)");
		RedisServer redis = Servers.redis();
		Map<String, Series> series = new LinkedHashMap<>();
		try (RedisClient client = RedisClient.create(RedisURI.create(redis.host(), redis.port()));
				StatefulRedisConnection<String, String> connection = client.connect();
				ChildProcess process = application(topic, database, redis).start();
				SoakTraffic traffic = new SoakTraffic(topic, PER_SECOND, new Random(seed))) {
			process.awaitReady();
			long start = System.nanoTime();
			for (int i = 1; i <= MINUTES * 60 / PERIOD.toSeconds(); i++) {
				TimeUnit.NANOSECONDS.sleep(start + i * PERIOD.toNanos() - System.nanoTime());
				double hours = (System.nanoTime() - start) / 3.6e12;
				Map<String, Double> values = new LinkedHashMap<>(sample(process, i));
				TABLES.forEach((table) -> values.put(table + " with indexes, bytes", size(jdbc, table)));
				values.put("memory of Redis, bytes", memory(connection));
				values.put("WAL, bytes per record",
						number(jdbc, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')") / traffic.records());
				values.put("lag of the ledger, records", (double) Kafka.lag(topic + "-ledger", topic));
				values.forEach((name, value) -> series.computeIfAbsent(name, (key) -> new Series()).add(hours, value));
				write(hours, values);
			}
			long payments = traffic.end();
			return finding(series, traffic.records(), payments, jdbc, topic);
		}
	}

	private static ChildApplication application(String topic, String database, RedisServer redis) {
		return TestApp.of(SoakApp.class)
			.redis(redis)
			.database(database)
			.with("topic", topic)
			.with("idempotency.store.type", "jdbc")
			.with("idempotency.stores.gateway.type", "redis")
			.with("idempotency.stores.gateway.redis.key-prefix", topic + ":")
			.with("idempotency.retention", "10m")
			.with("idempotency.cleanup.enabled", true)
			.with("idempotency.cleanup.interval", "1m")
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.retention", "5m")
			.child()
			.jvmOptions("-Xmx256m")
			.name("soak")
			.readyWhenOutputContains(SoakApp.STARTED);
	}

	private static Map<String, Double> sample(ChildProcess process, int number) {
		String mark = SoakApp.SAMPLE + " " + number + " ";
		process.send(mark);
		String line = Awaitility.await()
			.atMost(PATIENCE)
			.pollInterval(Duration.ofMillis(200))
			.until(() -> process.lines().stream().filter((one) -> one.startsWith(mark)).findFirst(),
					(found) -> found.isPresent())
			.get();
		return JsonMapper.shared().readValue(line.substring(mark.length()), new TypeReference<>() {
		});
	}

	private static double size(JdbcTemplate jdbc, String table) {
		return number(jdbc, "SELECT pg_total_relation_size('" + table + "')");
	}

	private static double number(JdbcTemplate jdbc, String query) {
		return jdbc.queryForObject(query, Double.class);
	}

	private static double memory(StatefulRedisConnection<String, String> connection) {
		return connection.sync()
			.info("memory")
			.lines()
			.filter((line) -> line.startsWith("used_memory:"))
			.mapToDouble((line) -> Double.parseDouble(line.substring(line.indexOf(':') + 1)))
			.findFirst()
			.orElseThrow();
	}

	// All samples, for those who want to look closer.
	private static void write(double hours, Map<String, Double> values) throws Exception {
		Path file = Path.of("target/evidence/soak.jsonl");
		Files.createDirectories(file.getParent());
		Map<String, Object> line = new LinkedHashMap<>(values);
		line.put("hours", hours);
		Files.writeString(file, JsonMapper.shared().writeValueAsString(line) + "\n", StandardOpenOption.CREATE,
				StandardOpenOption.APPEND);
	}

	private static Finding finding(Map<String, Series> series, long records, long payments, JdbcTemplate jdbc,
			String topic) {
		Map<String, Object> figures = new LinkedHashMap<>();
		figures.put("duration, minutes", MINUTES);
		figures.put("records", records);
		List<String> violations = new ArrayList<>();
		awaitEffects(jdbc, payments, topic);
		for (String listener : SoakListeners.ALL) {
			long effects = (long) number(jdbc, "SELECT count(*) FROM effect WHERE listener = '" + listener + "'");
			long distinct = (long) number(jdbc,
					"SELECT count(DISTINCT payment) FROM effect WHERE listener = '" + listener + "'");
			figures.put(listener + ": lost, doubled", (payments - distinct) + ", " + (effects - distinct));
			if (effects != payments || distinct != payments) {
				violations.add(listener + " has " + effects + " effects of " + payments + " payments");
			}
		}
		series.forEach((name, samples) -> {
			figures.put(name, String.format(Locale.ROOT, "%,.0f → %,.0f, slope %+,.0f per hour", samples.first(),
					samples.last(), samples.slope()));
			double tolerated = TOLERATED.getOrDefault(name, TOLERATED_OF_STORES * samples.mean());
			if (samples.slope() > tolerated && !name.startsWith("lag")) {
				violations.add(name + " grows");
			}
		});
		return new Finding(figures, String.join("; ", violations));
	}

	private static void awaitEffects(JdbcTemplate jdbc, long payments, String topic) {
		Awaitility.await()
			.atMost(PATIENCE)
			.pollInterval(Duration.ofSeconds(1))
			.until(() -> SoakListeners.ALL.stream()
				.filter((listener) -> !listener.equals("statements"))
				.allMatch((listener) -> Kafka.lag(topic + "-" + listener, topic) == 0)
					&& number(jdbc, "SELECT count(*) FROM idempotency_outbox WHERE published_at IS NULL") == 0
					&& Kafka.lag(topic + "-statements", SoakListeners.charged(topic)) == 0);
	}

}
