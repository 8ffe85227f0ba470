/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The processes of one application. {@link KillHarness} uses a group for its rounds; a
 * test with rounds of its own can use a group directly.
 * <p>
 * The methods that interrupt a process choose one at random among those that are ready,
 * because killing a process that has not started shows little. They wait until one is
 * ready.
 *
 * @since 0.1.0
 */
public final class ProcessGroup implements AutoCloseable {

	// The exit status of a JVM that has run its shutdown hooks after SIGTERM.
	private static final Set<Integer> REGULAR_END = Set.of(0, 128 + 15);

	private final ChildApplication application;

	private final Random random;

	private final List<ChildProcess> started = new CopyOnWriteArrayList<>();

	private final List<ChildProcess> running = new CopyOnWriteArrayList<>();

	private final List<ChildProcess> terminated = new CopyOnWriteArrayList<>();

	private final Set<Long> killed = new LinkedHashSet<>();

	/**
	 * Create a group without processes.
	 * @param application the application
	 * @param random the source of randomness
	 */
	public ProcessGroup(ChildApplication application, Random random) {
		this.application = application;
		this.random = random;
	}

	/**
	 * Start another process. Returns before it is ready.
	 * @return the process
	 */
	public ChildProcess start() {
		ChildProcess process = this.application.start();
		this.started.add(process);
		this.running.add(process);
		return process;
	}

	/**
	 * Return the processes that were started and neither killed nor terminated.
	 * @return the processes
	 */
	public List<ChildProcess> running() {
		return List.copyOf(this.running);
	}

	/**
	 * Return all processes that were started.
	 * @return the processes
	 */
	public List<ChildProcess> started() {
		return List.copyOf(this.started);
	}

	/**
	 * Return the identifiers of the processes that were killed.
	 * @return the identifiers
	 */
	public Set<Long> killed() {
		return Set.copyOf(this.killed);
	}

	/**
	 * Wait until all running processes are ready.
	 * @throws IllegalStateException if one of them ends before, or is not ready in time
	 */
	public void awaitReady() {
		this.running.forEach(ChildProcess::awaitReady);
	}

	/**
	 * Wait until at least one running process is ready.
	 * @return the processes that are ready
	 * @throws IllegalStateException if a process ends before, or none is ready in time
	 */
	public List<ChildProcess> ready() {
		List<ChildProcess> ready = readyNow();
		if (ready.isEmpty()) {
			if (this.running.isEmpty()) {
				throw new IllegalStateException("No process of '" + this.application.name() + "' is running");
			}
			// Fails when its own time limit is over.
			this.running.get(0).awaitReady();
			ready = readyNow();
		}
		return ready;
	}

	List<ChildProcess> readyNow() {
		return this.running.stream().filter(ChildProcess::isReady).toList();
	}

	/**
	 * Choose one of the processes that are ready.
	 * @return the process
	 */
	public ChildProcess one() {
		List<ChildProcess> ready = ready();
		return ready.get(this.random.nextInt(ready.size()));
	}

	/**
	 * Kill one process with SIGKILL.
	 * @return the process
	 */
	public ChildProcess kill() {
		ChildProcess process = one();
		process.kill();
		this.killed.add(process.pid());
		this.running.remove(process);
		return process;
	}

	/**
	 * Freeze one process with SIGSTOP. It remains one of the running processes.
	 * @return the process, to resume it
	 * @throws IllegalStateException on Windows
	 */
	public ChildProcess freeze() {
		ChildProcess process = one();
		process.freeze();
		return process;
	}

	/**
	 * Ask one process to end with SIGTERM, as a rolling update does, without waiting for
	 * it.
	 * @return the process
	 */
	public ChildProcess terminate() {
		ChildProcess process = one();
		terminate(process);
		return process;
	}

	private void terminate(ChildProcess process) {
		process.terminate();
		this.terminated.add(process);
		this.running.remove(process);
	}

	/**
	 * Terminate all running processes and wait until all terminated ones have ended.
	 * @throws IllegalStateException if a process has ended before by itself, does not end
	 * in time, or ends with a status other than 0 and 143
	 */
	public void stop() {
		checkAlive();
		running().forEach(this::terminate);
		for (ChildProcess process : this.terminated) {
			int status = process.awaitEnd();
			if (Signals.areSupported() && !REGULAR_END.contains(status)) {
				throw new IllegalStateException(process + " ended with status " + status
						+ " after SIGTERM, instead of 0 or 143. Its output is in " + process.output());
			}
		}
	}

	/**
	 * Check that no process has ended by itself.
	 * @throws IllegalStateException if one has, with the end of its output
	 */
	public void checkAlive() {
		this.running.forEach(ChildProcess::checkAlive);
	}

	@Override
	public String toString() {
		return "The output of the processes is in " + this.application.outputDirectory();
	}

	/**
	 * Kill all processes.
	 */
	@Override
	public void close() {
		// An interrupted thread, as after the timeout of a test, cannot wait for them.
		this.started.forEach(ChildProcess::endAtOnce);
		this.started.forEach(ChildProcess::close);
	}

}
