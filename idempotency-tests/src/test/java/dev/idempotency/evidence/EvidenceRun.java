/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.soak.SoakExhibit;
import dev.idempotency.storm.DurabilityExhibit;
import dev.idempotency.storm.FailoverExhibits;
import dev.idempotency.storm.KillExhibits;
import dev.idempotency.storm.NetworkExhibit;
import dev.idempotency.storm.VersionExhibit;

/**
 * Runs what is missing of the evidence, and writes the page after each run.
 */
public final class EvidenceRun {

	/**
	 * The system property with which an application completes each operation before its
	 * handler runs. The evidence must be red with it.
	 */
	public static final String FAULT = "evidence.fault";

	private final List<Exhibit> all = exhibits();

	private final List<String> only = new ArrayList<>();

	private @Nullable Long seed;

	private Instant end = Instant.MAX;

	private boolean again;

	private boolean list;

	private boolean runs = true;

	private EvidenceRun(String[] arguments) {
		for (String argument : arguments) {
			String value = argument.substring(argument.indexOf('=') + 1);
			switch (argument.substring(0, argument.length() - value.length())) {
				case "--only=" -> this.only.add(value);
				case "--seed=" -> this.seed = Long.valueOf(value);
				case "--minutes=" -> this.end = Instant.now().plus(Duration.ofMinutes(Long.parseLong(value)));
				default -> flag(argument);
			}
		}
	}

	static List<Exhibit> exhibits() {
		return Stream
			.of(KillExhibits.all(), List.<Exhibit>of(new SoakExhibit()), NetworkExhibit.all(), FailoverExhibits.all(),
					DurabilityExhibit.all(), VersionExhibit.all())
			.flatMap(List::stream)
			.toList();
	}

	private void flag(String argument) {
		switch (argument) {
			case "--again" -> this.again = true;
			case "--list" -> this.list = true;
			case "--page" -> this.runs = false;
			default -> throw new IllegalArgumentException("'" + argument + "' is not an option. See .ci/evidence");
		}
	}

	/**
	 * Run the evidence.
	 * @param arguments the options that {@code .ci/evidence} describes
	 * @throws Exception if the results cannot be written
	 */
	public static void main(String[] arguments) throws Exception {
		boolean complete = new EvidenceRun(arguments).run();
		// Servers have threads that would keep the JVM running.
		System.exit(complete ? 0 : 1);
	}

	private boolean run() throws Exception {
		boolean fault = Boolean.getBoolean(FAULT);
		Path directory = Path.of(fault ? "target" : "docs");
		EvidenceFile file = new EvidenceFile(directory.resolve("evidence/results.jsonl"));
		List<Exhibit> selected = this.all.stream()
			.filter((exhibit) -> this.only.isEmpty() || this.only.stream().anyMatch(exhibit.name()::contains))
			.toList();
		if (this.list) {
			selected.forEach((exhibit) -> System.out.println(exhibit.name()));
			return true;
		}
		boolean passed = true;
		for (Exhibit exhibit : this.runs ? selected : List.<Exhibit>of()) {
			long done = this.again ? 0 : count(file, exhibit);
			for (long i = done; i < exhibit.runs() && Instant.now().isBefore(this.end); i++) {
				System.out.printf("%s: run %d of %d%n", exhibit.name(), i + 1, exhibit.runs());
				EvidenceRow row = run(exhibit);
				if (!row.isPossible()) {
					System.out.printf("%s: %s%n", exhibit.name(), row.figures());
					if (file.read().stream().noneMatch((earlier) -> earlier.exhibit().equals(exhibit.name()))) {
						file.add(row);
					}
					break;
				}
				file.add(row);
				writePage(directory, file);
				System.out.printf("%s: %s in %d s, %s %s%n", exhibit.name(), row.passed() ? "passed" : "FAILED",
						row.seconds(), row.figures(), row.violation());
				passed &= row.passed();
			}
		}
		writePage(directory, file);
		return passed;
	}

	private static long count(EvidenceFile file, Exhibit exhibit) throws IOException {
		return file.read().stream().filter((row) -> row.exhibit().equals(exhibit.name()) && row.isPossible()).count();
	}

	private EvidenceRow run(Exhibit exhibit) throws Exception {
		long seed = (this.seed != null) ? this.seed : new Random().nextInt(Integer.MAX_VALUE);
		Instant start = Instant.now().truncatedTo(ChronoUnit.SECONDS);
		Finding finding;
		try {
			finding = exhibit.run(seed);
		}
		catch (Exception | AssertionError ex) {
			ex.printStackTrace();
			finding = new Finding(new LinkedHashMap<>(), EvidenceRow.firstLine(ex));
		}
		String command = ".ci/evidence --again --only=" + exhibit.name() + " --seed=" + seed;
		return new EvidenceRow(exhibit.name(), commit(), seed, start, command,
				Duration.between(start, Instant.now()).toSeconds(), finding.violation().isEmpty(), finding.figures(),
				finding.violation());
	}

	private static String commit() throws IOException, InterruptedException {
		String changed = git("status", "--porcelain", "--untracked-files=no", "--", "*.java", "*.kt", "pom.xml");
		return git("rev-parse", "--short=8", "HEAD") + (changed.isEmpty() ? "" : "+");
	}

	private static String git(String... arguments) throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(List.of("git"));
		command.addAll(List.of(arguments));
		Process process = new ProcessBuilder(command).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
		process.waitFor();
		return output;
	}

	private void writePage(Path directory, EvidenceFile file) throws IOException {
		Files.writeString(directory.resolve("evidence.md"),
				new EvidencePage(this.all, file.read()).replaceIn(Files.readString(Path.of("docs/evidence.md"))));
	}

}
