/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Work like that of a consumer, on files: each way has an effect for each key that was
 * sent, and commits an offset.
 */
enum NaiveWork {

	/**
	 * An effect happens twice when the process is killed before the offset is committed.
	 */
	EFFECT_FIRST {

		@Override
		void process(Path folder, String key) {
			append(effects(folder), key);
			LockSupport.parkNanos(GAP.toNanos());
			append(offsets(folder), key);
		}

	},

	/**
	 * An effect is lost when the process is killed after the offset is committed.
	 */
	OFFSET_FIRST {

		@Override
		void process(Path folder, String key) {
			append(offsets(folder), key);
			LockSupport.parkNanos(GAP.toNanos());
			append(effects(folder), key);
		}

	},

	/**
	 * An effect happens once.
	 */
	PROTECTED {

		@Override
		void process(Path folder, String key) {
			if (!lines(effects(folder)).contains(key)) {
				append(effects(folder), key);
			}
			LockSupport.parkNanos(GAP.toNanos());
			append(offsets(folder), key);
		}

	};

	static final String WORK = "work";

	// Much longer than writing a line, so that a kill comes between two lines.
	private static final Duration GAP = Duration.ofMillis(150);

	abstract void process(Path folder, String key);

	// Each way has a thread, which begins after the last committed offset.
	static void start(Path folder) {
		for (NaiveWork way : values()) {
			Thread thread = new Thread(() -> way.run(folder), way.name());
			thread.setDaemon(true);
			thread.start();
		}
	}

	private void run(Path folder) {
		for (int offset = lines(offsets(folder)).size();; offset++) {
			List<String> sent = lines(sent(folder));
			while (sent.size() <= offset) {
				LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
				sent = lines(sent(folder));
			}
			process(folder, sent.get(offset));
		}
	}

	static Path sent(Path folder) {
		return folder.resolve("sent");
	}

	Path effects(Path folder) {
		return folder.resolve("effects " + this);
	}

	Path offsets(Path folder) {
		return folder.resolve("offsets " + this);
	}

	static List<String> lines(Path file) {
		try {
			return Files.exists(file) ? Files.readAllLines(file) : List.of();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	static void append(Path file, String line) {
		try {
			Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
