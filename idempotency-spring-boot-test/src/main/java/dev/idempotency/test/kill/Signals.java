/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Freezes, resumes and terminates processes by signals of POSIX. Works on Linux and
 * macOS.
 *
 * @since 0.1.0
 */
public final class Signals {

	private static final int TIMEOUT_SECONDS = 10;

	private Signals() {
	}

	/**
	 * Return whether the operating system has these signals.
	 * @return {@code false} on Windows
	 */
	public static boolean areSupported() {
		return !System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("windows");
	}

	/**
	 * Stop all threads of a process, as a long pause of the garbage collector or of the
	 * virtual machine does. Its connections stay open.
	 * @param pid the process
	 * @throws IllegalStateException if the process does not exist, or on Windows
	 */
	public static void freeze(long pid) {
		send("STOP", pid);
	}

	/**
	 * Continue a frozen process.
	 * @param pid the process
	 * @throws IllegalStateException if the process does not exist, or on Windows
	 */
	public static void resume(long pid) {
		send("CONT", pid);
	}

	/**
	 * Ask a process to end, as a rolling update does. Returns before it has ended.
	 * @param pid the process
	 * @throws IllegalStateException if the process does not exist, or on Windows
	 */
	public static void terminate(long pid) {
		send("TERM", pid);
	}

	private static void send(String signal, long pid) {
		if (!areSupported()) {
			throw new IllegalStateException("Process " + pid + " was not sent SIG" + signal
					+ ", because Windows has no signals. Run the test on Linux or macOS");
		}
		try {
			Process kill = new ProcessBuilder("kill", "-" + signal, String.valueOf(pid)).start();
			if (!kill.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS) || kill.exitValue() != 0) {
				throw new IllegalStateException(
						"Process " + pid + " was not sent SIG" + signal + ". Check whether it has ended before");
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The command 'kill' could not be started", ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while process " + pid + " was sent SIG" + signal, ex);
		}
	}

}
