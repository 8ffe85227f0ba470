/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.apache.camel.CamelContext;
import org.apache.kafka.common.utils.AppInfoParser;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Compares the library with other ways to handle a record once: the rate of each, and the
 * payments that each loses or doubles when its consumer is killed. The same records go to
 * the same handler, in a process and a database for each peer.
 */
public final class PeersBenchmark {

	private static final Path PAGE = Path.of("idempotency-benchmarks/target/peers.md");

	private static final int WARM_UPS = 2;

	private final Settings settings;

	private final Servers servers;

	private final List<Peer> peers;

	private final Map<String, String> machine;

	private final Map<Peer, List<Phase>> phases = new EnumMap<>(Peer.class);

	private final Map<Peer, KillRun.Result> results = new EnumMap<>(Peer.class);

	private PeersBenchmark(Settings settings, Servers servers) {
		this.settings = settings;
		this.servers = servers;
		this.machine = machine(settings, servers);
		this.peers = Arrays.stream(Peer.values())
			.filter((peer) -> Arrays.stream(settings.text("only").split(","))
				.anyMatch((part) -> (peer.name() + " " + peer.title()).contains(part)))
			.toList();
	}

	/**
	 * Run the benchmark.
	 * @param arguments settings, such as {@code rounds=5}
	 * @throws Exception if a process or a server fails
	 */
	public static void main(String[] arguments) throws Exception {
		Map<String, String> defaults = new LinkedHashMap<>();
		defaults.put("rounds", "5");
		defaults.put("records", "12000");
		defaults.put("warm-up", "30000");
		defaults.put("duplicates", "0");
		defaults.put("partitions", "4");
		defaults.put("threads", "2");
		defaults.put("kills", "10");
		defaults.put("kill-after", "4000");
		defaults.put("only", "");
		Settings settings = Settings.parse(arguments, defaults);
		try (Servers servers = Servers.start()) {
			PeersBenchmark benchmark = new PeersBenchmark(settings, servers);
			benchmark.machine.forEach((name, value) -> System.out.println("- " + name + ": " + value));
			benchmark.rates();
			benchmark.kills();
			System.out.println("\n" + Files.readString(PAGE));
			System.out.println("Written to " + PAGE);
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private static Map<String, String> machine(Settings settings, Servers servers) {
		Map<String, String> machine = new LinkedHashMap<>(Machine.describe(servers).lines());
		machine.put("JVM", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version")
				+ ", 256 MB of heap for each consumer");
		machine.put("Kafka", AppInfoParser.getVersion() + ", one broker in a JVM of its own, loopback");
		machine.put("Redis", machine.get("Redis") + "; a second server with `appendfsync always`");
		machine.put("Others",
				"Spring Integration " + version(IntegrationFlow.class) + ", Camel " + version(CamelContext.class));
		machine.put("Settings", settings.toString());
		return machine;
	}

	private static String version(Class<?> type) {
		return String.valueOf(type.getPackage().getImplementationVersion());
	}

	static JdbcTemplate jdbc(Map<String, Object> properties) {
		return new JdbcTemplate(new DriverManagerDataSource(String.valueOf(properties.get("spring.datasource.url"))));
	}

	private void rates() throws IOException, InterruptedException {
		int rounds = this.settings.number("rounds");
		if (rounds == 0) {
			return;
		}
		List<Consumer> consumers = new ArrayList<>();
		try {
			for (Peer peer : this.peers) {
				String topic = this.servers.newTopic(this.settings.number("partitions"));
				PeerProcess process = PeerProcess.start(peer, "rounds", properties(peer, topic));
				consumers.add(new Consumer(peer, topic, process));
				process.await("ready");
			}
			for (int i = 0; i < WARM_UPS + rounds; i++) {
				for (Consumer consumer : order(consumers, i)) {
					Phase phase = round(i, consumer);
					System.out.printf(Locale.ROOT, "round %d of %d: %-60s %,9.0f/s%n", i - WARM_UPS + 1, rounds,
							consumer.peer().title(), phase.rate());
					if (i >= WARM_UPS) {
						this.phases.computeIfAbsent(consumer.peer(), (key) -> new ArrayList<>()).add(phase);
					}
				}
			}
		}
		finally {
			consumers.forEach((consumer) -> consumer.process().close());
		}
		write();
	}

	// No peer is always measured at the same time after the same other one.
	private static List<Consumer> order(List<Consumer> consumers, int round) {
		List<Consumer> order = new ArrayList<>(consumers);
		Collections.rotate(order, round);
		if (round % 2 == 1) {
			Collections.reverse(order);
		}
		return order;
	}

	private Phase round(int number, Consumer consumer) throws InterruptedException {
		int records = (number < WARM_UPS) ? this.settings.number("warm-up") / WARM_UPS
				: this.settings.number("records");
		int partitions = this.settings.number("partitions");
		int duplicates = this.settings.number("duplicates");
		Workload.of(number, partitions, records, duplicates).send(this.servers.producer(), consumer.topic());
		consumer.process().send("round " + number + " " + partitions + " " + records + " " + duplicates);
		String[] figures = consumer.process().await("phase");
		return new Phase(Double.parseDouble(figures[0]), Double.parseDouble(figures[1]), Double.parseDouble(figures[2]),
				Double.NaN);
	}

	private void kills() throws Exception {
		int kills = this.settings.number("kills");
		for (Peer peer : (kills > 0) ? this.peers : List.<Peer>of()) {
			String topic = this.servers.newTopic(this.settings.number("partitions"));
			Map<String, Object> properties = properties(peer, topic);
			// A restarted consumer waits for the leases of its predecessor.
			properties.put("idempotency.lease", "3s");
			properties.put("idempotency.store.timeout", "600ms");
			long start = System.nanoTime();
			KillRun.Result result = new KillRun(peer, this.servers, properties, topic,
					this.settings.number("partitions"))
				.run(kills, this.settings.number("kill-after"));
			System.out.printf(Locale.ROOT, "%-60s %s in %d s%n", peer.title(), result,
					(System.nanoTime() - start) / 1_000_000_000);
			this.results.put(peer, result);
			write();
		}
	}

	// After each step, because a complete run takes long.
	private void write() throws IOException {
		StringBuilder page = new StringBuilder();
		this.machine.forEach((name, value) -> page.append("- ").append(name).append(": ").append(value).append('\n'));
		page.append('\n').append(PeerTables.rates(this.phases, this.results));
		page.append('\n').append(PeerTables.pairs(this.phases));
		Files.writeString(PAGE, page);
	}

	private Map<String, Object> properties(Peer peer, String topic) throws IOException {
		Map<String, Object> properties = new LinkedHashMap<>(this.servers.properties());
		properties.put("benchmark.topic", topic);
		properties.put("benchmark.partition-count", this.settings.number("partitions"));
		properties.put("benchmark.partitions", "0-" + (this.settings.number("partitions") - 1));
		properties.put("spring.kafka.listener.concurrency", this.settings.number("threads"));
		properties.put("spring.kafka.consumer.group-id", BenchmarkListener.PROTECTED);
		// All peers are connected to the server at the same time.
		properties.put("spring.datasource.hikari.maximum-pool-size", this.settings.number("threads") + 2);
		if (peer.usesDurableRedis()) {
			properties.put("spring.data.redis.port", this.servers.durableRedisPort());
		}
		properties.putAll(peer.properties());
		return properties;
	}

	private record Consumer(Peer peer, String topic, PeerProcess process) {

	}

}
