/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.function.Predicate;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.slf4j.LoggerFactory;

/**
 * Captures the log of the library while it is open: of the thread that opened it and of
 * all threads that this thread has started since, so that other tests can log meanwhile.
 */
public final class Logs implements AutoCloseable {

	private static final Logger logger = (Logger) LoggerFactory.getLogger("dev.idempotency");

	// Several may be open at the same time. The
	// first sets the level, the last restores it.
	private static int open;

	private static Level before;

	// The thread that opened the log, also in the threads that it starts.
	private static final ThreadLocal<Object> OPENER = new InheritableThreadLocal<>();

	private final Recorder recorder;

	public Logs() {
		this(byOpener());
		OPENER.set(Thread.currentThread());
	}

	private Logs(Predicate<ILoggingEvent> filter) {
		this.recorder = new Recorder(filter);
		this.recorder.start();
		open();
		logger.addAppender(this.recorder);
	}

	// The opener may have started a worker of the tests' pool while it waited.
	private static Predicate<ILoggingEvent> byOpener() {
		Thread opener = Thread.currentThread();
		return (event) -> Thread.currentThread() == opener
				|| (OPENER.get() == opener && !(Thread.currentThread() instanceof ForkJoinWorkerThread));
	}

	private static synchronized void open() {
		if (open == 0) {
			before = logger.getLevel();
			logger.setLevel(Level.INFO);
			logger.setAdditive(false);
		}
		open++;
	}

	/**
	 * Capture the log of the thread of the test.
	 * @return the log
	 */
	public static Logs ofThisThread() {
		String thread = Thread.currentThread().getName();
		return new Logs((event) -> event.getThreadName().equals(thread));
	}

	/**
	 * Capture messages that contain a name of only one test.
	 * @param name the name
	 * @return the log
	 */
	public static Logs about(String name) {
		return new Logs((event) -> event.getFormattedMessage().contains(name));
	}

	/**
	 * Return the messages so far.
	 * @param level their level
	 * @return the messages
	 */
	public List<String> messages(String level) {
		return this.recorder.events.stream()
			.filter((event) -> event.getLevel().equals(Level.toLevel(level)))
			.map(ILoggingEvent::getFormattedMessage)
			.toList();
	}

	@Override
	public void close() {
		OPENER.remove();
		logger.detachAppender(this.recorder);
		closed();
	}

	private static synchronized void closed() {
		open--;
		if (open == 0) {
			logger.setAdditive(true);
			logger.setLevel(before);
		}
	}

	private static final class Recorder extends AppenderBase<ILoggingEvent> {

		private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

		private final Predicate<ILoggingEvent> filter;

		Recorder(Predicate<ILoggingEvent> filter) {
			this.filter = filter;
		}

		@Override
		protected void append(ILoggingEvent event) {
			if (this.filter.test(event)) {
				this.events.add(event);
			}
		}

	}

}
