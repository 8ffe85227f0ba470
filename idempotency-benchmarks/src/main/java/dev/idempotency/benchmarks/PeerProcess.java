/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The process of a {@link PeerApplication}.
 */
final class PeerProcess implements AutoCloseable {

	private static final Duration PATIENCE = Duration.ofMinutes(3);

	private static final String END = "@end";

	private final Process process;

	private final Path log;

	private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

	private PeerProcess(Process process, Path log) {
		this.process = process;
		this.log = log;
		Thread reader = new Thread(this::read, "peer-output");
		reader.setDaemon(true);
		reader.start();
	}

	static PeerProcess start(Peer peer, String mode, Map<String, Object> properties) throws IOException {
		List<String> command = new ArrayList<>(List.of(
				Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xms256m", "-Xmx256m", "-cp",
				System.getProperty("java.class.path"), PeerApplication.class.getName(), peer.name(), mode));
		properties.forEach((name, value) -> command.add("--" + name + "=" + value));
		Path directory = Files.createDirectories(Path.of("idempotency-benchmarks/target/peers"));
		return new PeerProcess(new ProcessBuilder(command).redirectErrorStream(true).start(),
				directory.resolve(peer.name().toLowerCase(Locale.ROOT) + ".log"));
	}

	private void read() {
		try (BufferedReader output = this.process.inputReader();
				Writer file = Files.newBufferedWriter(this.log, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
			for (String line = output.readLine(); line != null; line = output.readLine()) {
				if (line.startsWith("@")) {
					this.answers.add(line.substring(1));
				}
				else {
					file.append(line).append('\n').flush();
				}
			}
		}
		catch (IOException ex) {
			// The process was killed while its output was being read.
		}
		this.answers.add(END);
	}

	void send(String command) {
		try {
			BufferedWriter input = this.process.outputWriter();
			input.append(command).append('\n').flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The process has ended, see " + this.log, ex);
		}
	}

	/**
	 * Wait for an answer and skip others before it.
	 */
	String[] await(String word) throws InterruptedException {
		long deadline = System.nanoTime() + PATIENCE.toNanos();
		while (true) {
			String answer = this.answers.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
			if (answer == null || answer.equals(END)) {
				throw new IllegalStateException(
						"The process did not answer '" + word + "', see " + this.log.toAbsolutePath());
			}
			String[] words = answer.split(" ");
			if (words[0].equals(word)) {
				return Arrays.copyOfRange(words, 1, words.length);
			}
		}
	}

	/**
	 * Send SIGKILL to the process and wait for its end.
	 */
	void kill() {
		this.process.destroyForcibly().onExit().join();
	}

	/**
	 * Let the application stop its consumer and end.
	 */
	void stop() throws InterruptedException {
		send("stop");
		await("stopped");
		this.process.onExit().join();
	}

	@Override
	public void close() {
		kill();
	}

}
