/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.springframework.util.FileSystemUtils;
import org.springframework.util.unit.DataSize;

/**
 * Temporary directories for the data of servers, deleted at the end of the JVM.
 */
final class Directories {

	private static final long ENOUGH = DataSize.ofGigabytes(12).toBytes();

	private Directories() {
	}

	static Path create(String prefix) {
		try {
			return Files.createTempDirectory(prefix);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Create a directory in the memory of the machine if it has enough, for a server that
	 * writes much: some hundred databases are several gigabytes.
	 * @param prefix the beginning of its name
	 * @return the directory
	 */
	static Path createInMemory(String prefix) {
		Path memory = Path.of("/dev/shm");
		try {
			if (!Files.isWritable(memory) || Files.getFileStore(memory).getUsableSpace() < ENOUGH) {
				return create(prefix);
			}
			return Files.createTempDirectory(memory, prefix);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Delete a directory when the JVM has ended.
	 * @param directory the directory
	 * @param stop stops the server that uses it
	 */
	static void deleteAtExit(Path directory, Runnable stop) {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			stop.run();
			delete(directory);
		}));
	}

	// The JVM needs fifteen seconds for the files of some hundred databases, and the
	// build would wait for it. A server that stops may still write for a moment.
	private static void delete(Path directory) {
		try {
			new ProcessBuilder("sh", "-c", "for i in 1 2 3 4 5; do rm -rf \"$0\" && exit; sleep 1; done",
					directory.toString())
				.redirectOutput(ProcessBuilder.Redirect.DISCARD)
				.redirectError(ProcessBuilder.Redirect.DISCARD)
				.start();
		}
		catch (IOException ex) {
			// A system without these commands.
			FileSystemUtils.deleteRecursively(directory.toFile());
		}
	}

}
