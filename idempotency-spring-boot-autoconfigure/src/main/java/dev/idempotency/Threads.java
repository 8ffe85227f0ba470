/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Creates the daemon threads of this library, and pools whose idle threads end.
 *
 * @since 0.1.0
 */
@Internal
public final class Threads {

	private static final long IDLE_SECONDS = 10;

	private Threads() {
	}

	/**
	 * Return a factory that numbers its threads.
	 * @param name the name of the threads, after {@code idempotency-}
	 * @return the factory
	 */
	public static ThreadFactory named(String name) {
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-" + name + "-");
		threads.setDaemon(true);
		return threads;
	}

	/**
	 * Create a thread without starting it.
	 * @param name the name of the thread
	 * @param task the task to run
	 * @return the thread
	 */
	public static Thread daemon(String name, Runnable task) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		return thread;
	}

	/**
	 * Wait for the end of a thread. An interrupt ends the wait and stays set.
	 * @param thread the thread
	 * @param timeout the longest time to wait; no time if it is not positive
	 */
	public static void awaitEnd(Thread thread, Duration timeout) {
		try {
			TimeUnit.MILLISECONDS.timedJoin(thread, timeout.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Create a scheduler with one thread.
	 * @param name the name of the thread, after {@code idempotency-}
	 * @return the scheduler
	 */
	public static ScheduledExecutorService scheduler(String name) {
		return Executors.newSingleThreadScheduledExecutor(named(name));
	}

	/**
	 * Create a pool of limited size.
	 * @param threads creates the threads
	 * @param size the number of threads
	 * @return the pool
	 */
	public static ThreadPoolExecutor pool(ThreadFactory threads, int size) {
		ThreadPoolExecutor pool = new ThreadPoolExecutor(size, size, IDLE_SECONDS, TimeUnit.SECONDS,
				new LinkedBlockingQueue<>(), threads);
		pool.allowCoreThreadTimeOut(true);
		return pool;
	}

}
