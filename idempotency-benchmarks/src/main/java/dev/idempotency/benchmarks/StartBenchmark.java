/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.springframework.util.Assert;

/**
 * Compares the start of a small application with the library and with
 * {@code idempotency.enabled=false}. Both have the same class path.
 */
public final class StartBenchmark {

	private static final Path PAGE = Path.of("idempotency-benchmarks/target/start.md");

	private static final List<String> FIGURES = List.of("start of the JVM until the application is ready, ms",
			"heap after a full collection, MB", "memory outside the heap, MB", "bean definitions", "loaded classes",
			"threads");

	// A small application does not have what only other benchmarks need.
	private static final Pattern OTHERS = Pattern
		.compile("camel|integration|lettuce|redis|netty|awssdk|mariadb|caffeine");

	private final Map<String, Object> properties;

	private StartBenchmark(Map<String, Object> properties) {
		this.properties = properties;
	}

	/**
	 * Run the benchmark.
	 * @param arguments settings, such as {@code rounds=15}
	 * @throws Exception if a process or a server fails
	 */
	public static void main(String[] arguments) throws Exception {
		Settings settings = Settings.parse(arguments, Map.of("rounds", "15"));
		try (Servers servers = Servers.start()) {
			Map<String, Object> properties = new LinkedHashMap<>(servers.properties());
			properties.put("benchmark.topic", servers.newTopic(1));
			String page = new StartBenchmark(properties).measure(settings.number("rounds"));
			System.out.println("\n" + page);
			Files.writeString(PAGE, page);
			System.out.println("Written to " + PAGE);
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private String measure(int rounds) throws IOException, InterruptedException {
		List<double[]> without = new ArrayList<>();
		List<double[]> with = new ArrayList<>();
		// The first round creates the tables.
		for (int i = -1; i < rounds; i++) {
			boolean first = i % 2 == 0;
			double[] one = start(first);
			double[] other = start(!first);
			if (i >= 0) {
				with.add(first ? one : other);
				without.add(first ? other : one);
				System.out.printf(Locale.ROOT, "round %d of %d: %.0f ms, %.0f ms%n", i + 1, rounds, without.get(i)[0],
						with.get(i)[0]);
			}
		}
		StringBuilder table = new StringBuilder("""
				| | without the library (range) | with it (range) | difference (range) |
				|---|---|---|---|
				""");
		for (int i = 0; i < FIGURES.size(); i++) {
			List<Double> one = new ArrayList<>();
			List<Double> other = new ArrayList<>();
			List<Double> difference = new ArrayList<>();
			for (int round = 0; round < rounds; round++) {
				one.add(without.get(round)[i]);
				other.add(with.get(round)[i]);
				difference.add(other.get(round) - one.get(round));
			}
			table.append("| %s | %s | %s | %s |%n".formatted(FIGURES.get(i), Sample.of(one).format("%,.1f"),
					Sample.of(other).format("%,.1f"), Sample.of(difference).format("%+,.1f")));
		}
		return table.toString();
	}

	private static String classPath() {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((entry) -> !OTHERS.matcher(Path.of(entry).getFileName().toString()).find())
			.collect(Collectors.joining(File.pathSeparator));
	}

	private double[] start(boolean enabled) throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-cp",
						classPath(), StartApplication.class.getName(), "--idempotency.enabled=" + enabled));
		this.properties.forEach((name, value) -> command.add("--" + name + "=" + value));
		Path log = Path.of("idempotency-benchmarks/target/start.log");
		Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
		Assert.state(process.waitFor() == 0, () -> "The application did not start, see " + log);
		double[] figures = Files.readAllLines(log)
			.stream()
			.filter((line) -> line.startsWith("@"))
			.mapToDouble((line) -> Double.parseDouble(line.substring(1)))
			.toArray();
		Assert.state(figures.length == FIGURES.size(), () -> "The application did not start, see " + log);
		return figures;
	}

}
