/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.util.Map;
import java.util.Random;

/**
 * One round of a {@link KillHarness}: some traffic and one interruption.
 *
 * @since 0.1.0
 */
public final class Round {

	private final int number;

	private final Random random;

	private final ProcessGroup processes;

	private final Map<String, Integer> sent;

	Round(int number, Random random, ProcessGroup processes, Map<String, Integer> sent) {
		this.number = number;
		this.random = random;
		this.processes = processes;
		this.sent = sent;
	}

	/**
	 * Return the number of the round.
	 * @return the number, from 1. A round that is repeated gets another number
	 */
	public int number() {
		return this.number;
	}

	/**
	 * Return a source of randomness for the traffic, which the seed of the run
	 * determines.
	 * @return the source
	 */
	public Random random() {
		return this.random;
	}

	/**
	 * Wait until a process is ready, for traffic that goes through the application.
	 * @return a process that is ready. It may be killed at any time
	 */
	public ChildProcess process() {
		return this.processes.ready().get(0);
	}

	/**
	 * Record that an operation was sent, and must take effect once. Call it when the
	 * broker has acknowledged the record. Copies have the same key.
	 * @param key the key of the operation, as {@link EffectQuery} returns it
	 */
	public void sent(String key) {
		this.sent.putIfAbsent(key, this.number);
	}

}
