/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Ends the child processes when this JVM ends.
 */
final class Orphans {

	private static final int GRACE_SECONDS = 20;

	// A JVM that is killed itself runs no shutdown hook, but its pipes are closed. The
	// watching shell is ended together with the child, so that it signals no other one.
	private static final String WATCH = "trap '' INT TERM HUP; read -r line; ";

	private static final String KILL = "kill -KILL \"$1\"";

	private static final String TERMINATE = "kill -TERM \"$1\"; i=0; " + "while [ $i -lt " + GRACE_SECONDS
			+ " ] && kill -0 \"$1\"; do sleep 1; i=$((i + 1)); done; ";

	private static final Map<Process, Boolean> CHILDREN = new ConcurrentHashMap<>();

	static {
		Runtime.getRuntime().addShutdownHook(new Thread(Orphans::endAll));
	}

	private Orphans() {
	}

	static void prevent(Process child, boolean terminate) {
		CHILDREN.put(child, terminate);
		child.onExit().thenRun(() -> CHILDREN.remove(child));
		if (Signals.areSupported()) {
			watch(child, terminate ? WATCH + TERMINATE + KILL : WATCH + KILL);
		}
	}

	private static void watch(Process child, String script) {
		try {
			Process watcher = new ProcessBuilder("sh", "-c", script, "sh", String.valueOf(child.pid()))
				.redirectOutput(Redirect.DISCARD)
				.redirectError(Redirect.DISCARD)
				.start();
			child.onExit().thenRun(watcher::destroyForcibly);
		}
		catch (IOException ex) {
			// A system without a shell: the shutdown hook remains.
		}
	}

	private static void endAll() {
		CHILDREN.forEach((child, terminate) -> {
			if (!terminate) {
				child.destroyForcibly();
			}
		});
		// Servers last, as their clients have ended now.
		CHILDREN.keySet().forEach(Process::destroy);
		try {
			for (Process child : CHILDREN.keySet()) {
				if (!child.waitFor(GRACE_SECONDS, TimeUnit.SECONDS)) {
					child.destroyForcibly();
				}
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
