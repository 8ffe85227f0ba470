/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import dev.idempotency.storm.pairs.Message.Kind;

/**
 * What must happen to the records of a trial.
 *
 * @param combination the combination
 */
record Model(Combination combination) {

	static final String VERSIONED = "version";

	static final long HIGHEST = 4;

	/**
	 * Group the records that are not rejected by their operation.
	 * @param messages the records
	 * @return the records of each operation
	 */
	Map<String, List<Message>> operations(List<Message> messages) {
		Map<String, List<Message>> operations = new LinkedHashMap<>();
		messages.stream()
			.filter((message) -> !rejected(message))
			.forEach((message) -> operations
				.computeIfAbsent(message.operation(this.combination), (name) -> new ArrayList<>())
				.add(message));
		return operations;
	}

	/**
	 * Whether a record can never be processed.
	 * @param message the record
	 * @return whether it is rejected
	 */
	boolean rejected(Message message) {
		return (message.kind() == Kind.REUSED && this.combination.keyed()
				&& this.combination.is(Factor.FINGERPRINT, "declared"))
				|| (message.kind() == Kind.KEYLESS && this.combination.versions());
	}

	/**
	 * Whether a record is a dead letter.
	 * @param message the record
	 * @return whether it must be one
	 */
	boolean dead(Message message) {
		return rejected(message) || (message.kind() == Kind.ALWAYS && !this.combination.stopping());
	}

	/**
	 * Return the number of dead letters.
	 * @param messages the records
	 * @return the lowest number
	 */
	long dead(List<Message> messages) {
		long dead = messages.stream().filter(this::dead).count();
		if (!this.combination.unreadable() || this.combination.batch()) {
			return dead;
		}
		return dead + operations(messages).values()
			.stream()
			.filter((copies) -> hasResult(copies.get(0)) && !copies.get(0).id().equals(VERSIONED))
			.mapToLong((copies) -> copies.size() - 1)
			.sum();
	}

	/**
	 * Whether the operation of a record has a stored result.
	 * @param message the record
	 * @return whether its duplicates read the result
	 */
	boolean hasResult(Message message) {
		return message.kind() == Kind.DECLINED || succeeds(message);
	}

	/**
	 * Whether the operation of a record has an effect.
	 * @param message the record
	 * @return whether its method succeeds
	 */
	boolean succeeds(Message message) {
		return switch (message.kind()) {
			case NORMAL, ONCE, REUSED, KEYLESS -> !rejected(message);
			case ALWAYS -> this.combination.stopping();
			case DECLINED, DROPPED, MOVED -> false;
		};
	}

	/**
	 * Whether a record has a lower version than one before it.
	 * @param message the record
	 * @param first whether it is sent before its copies
	 * @return whether it is skipped
	 */
	boolean stale(Message message, boolean first) {
		return this.combination.versions() && message.id().equals(VERSIONED)
				&& (first ? message.version() == 2 : message.version() < HIGHEST);
	}

}
