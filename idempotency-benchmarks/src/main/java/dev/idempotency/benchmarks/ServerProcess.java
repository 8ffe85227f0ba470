/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.springframework.util.FileSystemUtils;

/**
 * The process of a server with a directory of its own, which is deleted at the end.
 */
final class ServerProcess implements AutoCloseable {

	private static final long READY = TimeUnit.SECONDS.toNanos(60);

	private final Path directory;

	private final Process process;

	private ServerProcess(Path directory, Process process) {
		this.directory = directory;
		this.process = process;
		// Before a run that fails ends the JVM.
		Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
	}

	static ServerProcess start(Path directory, List<String> command, BooleanSupplier ready) {
		File log = directory.resolve("log").toFile();
		try {
			ServerProcess server = new ServerProcess(directory,
					new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(Redirect.to(log)).start());
			server.await(ready, log);
			return server;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void await(BooleanSupplier ready, File log) {
		long start = System.nanoTime();
		try {
			while (!ready.getAsBoolean()) {
				if (this.process.waitFor(50, TimeUnit.MILLISECONDS) || System.nanoTime() - start > READY) {
					this.process.destroyForcibly();
					throw new IllegalStateException("A server did not start, see " + log);
				}
			}
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() throws IOException {
		this.process.destroyForcibly().onExit().join();
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
