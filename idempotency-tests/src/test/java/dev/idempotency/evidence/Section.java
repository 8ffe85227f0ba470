/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.util.List;

/**
 * The sections of the page, in their order.
 */
public enum Section {

	/**
	 * Processes that are killed under load.
	 */
	KILLS("Kills",
			"""
					Two processes of an application consume payments, of which three in ten are sent twice, and one of them is
					killed with SIGKILL at a random moment of each round. Afterwards every payment is compared with the effects in
					the database. *Open at a kill* are effects that happened before the kill, and whose completion had not. Only
					these may be repeated, and only in leased mode.""",
			true, "kills", "operations", "lost", "doubled", "open at a kill"),

	/**
	 * Hours of steady load.
	 */
	SOAK("Soak", """
			One process works at about half of its highest rate. The slope is that of the straight line through the
			samples after the first quarter of the time.""", false),

	/**
	 * Faults of the network.
	 */
	NETWORK("Faults of the network",
			"""
					A proxy stands between two processes and one of their servers, and disturbs the network for eight seconds:
					longer than the lease of 5 s and the session timeout of 3 s. Payments are sent all the time, a hundred a second.
					The connections to a database have a `socketTimeout` of 5 s, and the server ends a transaction that is idle for
					10 s; without both, records had not been processed four minutes after a half-open connection. *Next effect
					after* and *all done after* are counted from the end of the fault.""",
			false, "operations", "lost", "doubled", "open at the fault", "next effect after, s", "all done after, s"),

	/**
	 * Failovers of servers.
	 */
	FAILOVERS("Failovers",
			"""
					A server is killed or frozen under load, and another one takes its place. Payments are sent all the time, a
					hundred a second, and at the end all of them once more: each key that was forgotten takes effect again. *Lost*
					are payments without an effect before that. *Recovered* is the time from the failure until payments took effect
					within two seconds again. The replication of PostgreSQL is interrupted a second before its primary is killed. The
					broker that fails coordinates the consumer group.""",
			false, "operations", "lost", "doubled", "longest delay, s", "recovered, s", "promised"),

	/**
	 * Settings of Redis that lose writes.
	 */
	DURABILITY("Redis with weaker durability",
			"""
					Redis is killed and restarted under load, with settings under which it may forget keys. At the end all payments
					are sent once more: each key that was forgotten takes effect again. Each repeated charge is compared with the
					time of the restarts. The file of the third row is cut back to its length two seconds before each kill, as when
					the machine fails.""",
			false, "operations", "restarts", "lost", "doubled", "keys forgotten"),

	/**
	 * Versions of servers.
	 */
	VERSIONS("Versions of servers", """
			The tests of the store's contract, and payments whose processes are killed, on each version that can be
			installed.""", false, "version", "tests", "failed", "kills", "lost", "doubled", "open at a kill");

	private final String title;

	private final String text;

	private final boolean summed;

	private final List<String> columns;

	Section(String title, String text, boolean summed, String... columns) {
		this.title = title;
		this.text = text;
		this.summed = summed;
		this.columns = List.of(columns);
	}

	String title() {
		return this.title;
	}

	String text() {
		return this.text;
	}

	// Whether the figures of several runs are added, or those of the last run count.
	boolean summed() {
		return this.summed;
	}

	// Empty if each figure is a row.
	List<String> columns() {
		return this.columns;
	}

}
