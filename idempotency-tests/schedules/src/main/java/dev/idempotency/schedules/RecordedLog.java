/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.util.ArrayList;
import java.util.List;

import org.apache.commons.logging.impl.NoOpLog;

/**
 * Keeps the warnings and errors of one schedule, without the locks of a logging system.
 */
public final class RecordedLog extends NoOpLog {

	private static final long serialVersionUID = 1L;

	private static final List<String> LINES = new ArrayList<>();

	/**
	 * Create a log.
	 * @param name the name of the logger, which is not used
	 */
	public RecordedLog(String name) {
		super(name);
	}

	static List<String> lines() {
		return LINES;
	}

	@Override
	public void warn(Object message) {
		LINES.add(message.toString());
	}

	@Override
	public void warn(Object message, Throwable error) {
		LINES.add(message + " (" + error + ")");
	}

	@Override
	public void error(Object message) {
		LINES.add(message.toString());
	}

	@Override
	public void error(Object message, Throwable error) {
		LINES.add(message + " (" + error + ")");
	}

}
