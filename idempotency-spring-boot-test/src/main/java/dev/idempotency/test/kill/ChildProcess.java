/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import dev.idempotency.test.kill.ChildApplication.Readiness;

/**
 * A process of a {@link ChildApplication}. Its standard output and its standard error are
 * in one file.
 *
 * @since 0.1.0
 */
public final class ChildProcess implements AutoCloseable {

	private static final Duration POLL = Duration.ofMillis(50);

	private static final int LAST_LINES = 20;

	private static final int HTTP_TIMEOUT_MILLIS = 5000;

	private final Process process;

	private final String name;

	private final Path output;

	private final int port;

	private final Readiness readiness;

	private final Duration timeout;

	private volatile boolean ready;

	private volatile boolean endRequested;

	ChildProcess(Process process, String name, Path output, int port, Readiness readiness, Duration timeout) {
		this.process = process;
		this.name = name;
		this.output = output;
		this.port = port;
		this.readiness = readiness;
		this.timeout = timeout;
	}

	/**
	 * Return the process identifier, by which effects can name the process that caused
	 * them.
	 * @return the identifier
	 */
	public long pid() {
		return this.process.pid();
	}

	/**
	 * Return the file that contains the output.
	 * @return the file
	 */
	public Path output() {
		return this.output.toAbsolutePath();
	}

	/**
	 * Return the lines of the output so far.
	 * @return the lines. The last one may be incomplete
	 * @throws UncheckedIOException if the file cannot be read
	 */
	public List<String> lines() {
		try {
			// Output need not be UTF-8, and the last character may be incomplete.
			return new String(Files.readAllBytes(this.output), StandardCharsets.UTF_8).lines().toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The output of " + this + " could not be read", ex);
		}
	}

	/**
	 * Return an address of the HTTP server of the process.
	 * @param path the path, which begins with a slash
	 * @return the address
	 * @throws IllegalStateException if the application was not described with
	 * {@link ChildApplication#readyWhenHttpOk(String)}
	 */
	public URI uri(String path) {
		if (this.port == 0) {
			throw new IllegalStateException(
					"The port of " + this + " is unknown. Describe the application with 'readyWhenHttpOk'");
		}
		return URI.create("http://127.0.0.1:" + this.port + path);
	}

	boolean respondsTo(String path) throws IOException {
		HttpURLConnection connection = (HttpURLConnection) uri(path).toURL().openConnection();
		connection.setConnectTimeout(HTTP_TIMEOUT_MILLIS);
		connection.setReadTimeout(HTTP_TIMEOUT_MILLIS);
		try {
			return connection.getResponseCode() / 100 == 2;
		}
		finally {
			connection.disconnect();
		}
	}

	/**
	 * Return whether the process has been ready once and has not ended.
	 * @return whether it can be used
	 */
	public boolean isReady() {
		if (!this.ready && this.process.isAlive()) {
			try {
				this.ready = this.readiness.isReady(this);
			}
			catch (Exception ex) {
				// It is not ready yet.
			}
		}
		return this.ready && this.process.isAlive();
	}

	/**
	 * Wait until the process is ready.
	 * @return this
	 * @throws IllegalStateException if the process ends before, or is not ready within
	 * {@link ChildApplication#startTimeout(Duration)}
	 */
	public ChildProcess awaitReady() {
		await("was not ready", this::isReady);
		return this;
	}

	/**
	 * Wait until the process has printed a line.
	 * @param line the whole line
	 * @throws IllegalStateException if the process ends before, or does not print the
	 * line within {@link ChildApplication#startTimeout(Duration)}
	 */
	public void awaitLine(String line) {
		await("did not print '" + line + "'", () -> lines().contains(line));
	}

	private void await(String failure, Waiting.Condition condition) {
		boolean met = Waiting.until(this.timeout, POLL, () -> {
			// In this order: the process may end after the condition was met.
			boolean alive = this.process.isAlive();
			if (condition.isMet()) {
				return true;
			}
			if (!alive) {
				throw ended();
			}
			return false;
		});
		if (!met) {
			throw new IllegalStateException(
					this + " " + failure + " within " + this.timeout.toSeconds() + " s. " + lastLines());
		}
	}

	/**
	 * Send a line to the standard input of the process.
	 * @param line the line
	 * @throws UncheckedIOException if the process does not accept it, for example because
	 * it has ended
	 */
	public void send(String line) {
		try {
			this.process.outputWriter().append(line).append('\n').flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The line '" + line + "' could not be sent to " + this, ex);
		}
	}

	/**
	 * Kill the process with SIGKILL, also when it is frozen, and wait until it has ended.
	 * It runs no shutdown hook and closes no session.
	 * @throws IllegalStateException if it has not ended within
	 * {@link ChildApplication#startTimeout(Duration)}
	 */
	public void kill() {
		endAtOnce();
		awaitEnd();
	}

	void endAtOnce() {
		this.endRequested = true;
		this.process.destroyForcibly();
	}

	/**
	 * Freeze all threads of the process with SIGSTOP.
	 * @throws IllegalStateException if the process has ended, or on Windows
	 */
	public void freeze() {
		Signals.freeze(pid());
	}

	/**
	 * Resume the process with SIGCONT.
	 * @throws IllegalStateException if the process has ended, or on Windows
	 */
	public void resume() {
		Signals.resume(pid());
	}

	/**
	 * Ask the process to end with SIGTERM, without waiting for it. Windows has no such
	 * signal: there it is killed.
	 */
	public void terminate() {
		this.endRequested = true;
		if (Signals.areSupported()) {
			// Process.destroy() would close the standard input as well.
			Signals.terminate(pid());
		}
		else {
			this.process.destroy();
		}
	}

	/**
	 * Wait until the process has ended.
	 * @return its exit status
	 * @throws IllegalStateException if it has not ended within
	 * {@link ChildApplication#startTimeout(Duration)}
	 */
	public int awaitEnd() {
		try {
			if (!this.process.waitFor(this.timeout.toMillis(), TimeUnit.MILLISECONDS)) {
				throw new IllegalStateException(
						this + " did not end within " + this.timeout.toSeconds() + " s. " + lastLines());
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while waiting for the end of " + this, ex);
		}
		return this.process.exitValue();
	}

	/**
	 * Return whether the process has not ended.
	 * @return whether it is alive. A frozen process is
	 */
	public boolean isAlive() {
		return this.process.isAlive();
	}

	// A process that was neither killed nor terminated must not have ended.
	void checkAlive() {
		if (!this.endRequested && !this.process.isAlive()) {
			throw ended();
		}
	}

	private IllegalStateException ended() {
		return new IllegalStateException(
				this + " has ended with status " + this.process.exitValue() + ". " + lastLines());
	}

	private String lastLines() {
		List<String> lines = lines();
		return "Its output is in " + output() + " and ends with:\n"
				+ String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
	}

	/**
	 * Kill the process if it has not ended.
	 */
	@Override
	public void close() {
		kill();
	}

	@Override
	public String toString() {
		return "Process " + pid() + " of '" + this.name + "'";
	}

}
