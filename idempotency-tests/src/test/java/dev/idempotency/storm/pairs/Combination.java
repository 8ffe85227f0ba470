/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A level of each factor.
 *
 * @param levels the names of the levels; a combination that is not complete lacks some
 */
record Combination(Map<Factor, String> levels) {

	private static final List<String> JDBC = List.of("PostgreSQL", "PostgreSQL, partitioned", "MariaDB",
			"MariaDB, driver of MySQL", "H2", "migrating");

	// The levels with which keys are claimed ahead. Those of the other factors do not
	// matter. Without a key no copy shows which claim was used.
	private static final Map<Factor, List<String>> CLAIMING_AHEAD = Map.of(Factor.SHAPE, List.of("record"), Factor.MODE,
			List.of("leased"), Factor.STORE,
			List.of("PostgreSQL", "MariaDB", "MariaDB, driver of MySQL", "Redis", "Redis cluster", "in memory"),
			Factor.ACK, List.of("BATCH", "RECORD", "TIME", "COUNT", "COUNT_TIME"), Factor.KEY,
			List.of("expression", "composite", "header"), Factor.KAFKA_TRANSACTION, List.of("no"), Factor.TRANSACTION,
			List.of("none", "nested template"), Factor.CLAIM_AHEAD, List.of("on"));

	Combination {
		levels = new EnumMap<>(levels);
	}

	/**
	 * Return the usual levels.
	 * @return a combination
	 */
	static Combination usual() {
		return new Combination(Arrays.stream(Factor.values())
			.collect(Collectors.toMap((factor) -> factor, (factor) -> factor.levels().get(0))));
	}

	Combination with(Level level) {
		Map<Factor, String> changed = new EnumMap<>(this.levels);
		changed.put(level.factor(), level.name());
		return new Combination(changed);
	}

	boolean is(Factor factor, String... names) {
		return Arrays.stream(names).anyMatch((name) -> factor.level(name).name().equals(this.levels.get(factor)));
	}

	boolean contains(Level level) {
		return level.name().equals(this.levels.get(level.factor()));
	}

	/**
	 * Whether the method processes one record before it returns.
	 * @return whether it is neither a batch nor asynchronous
	 */
	boolean single() {
		return is(Factor.SHAPE, "record", "class-level");
	}

	boolean classLevel() {
		return is(Factor.SHAPE, "class-level");
	}

	/**
	 * Return the idempotency scope of the listener.
	 * @param topic its topic, and its group
	 * @return the scope
	 */
	String scope(String topic) {
		return topic + "/" + topic + (classLevel() ? "#" + PairListener.METHOD : "");
	}

	boolean batch() {
		return is(Factor.SHAPE, "batch", "batch without an index");
	}

	boolean asynchronous() {
		return is(Factor.SHAPE, "future", "Mono", "suspend");
	}

	boolean jdbc() {
		return JDBC.contains(this.levels.get(Factor.STORE));
	}

	boolean kafkaTransaction() {
		return is(Factor.KAFKA_TRANSACTION, "yes");
	}

	/**
	 * Whether the mode that the library chooses is the transactional one.
	 * @return whether the record and the effect commit together
	 */
	boolean transactional() {
		return !is(Factor.MODE, "leased") && jdbc() && !asynchronous() && !kafkaTransaction();
	}

	/**
	 * Whether keys are claimed ahead, as far as this depends on a level.
	 * @param level the level
	 * @return whether a combination with it may claim keys ahead
	 */
	static boolean mayClaimAhead(Level level) {
		return CLAIMING_AHEAD.getOrDefault(level.factor(), level.factor().levels()).contains(level.name());
	}

	boolean keyed() {
		return !is(Factor.KEY, "coordinates", "offset");
	}

	boolean versions() {
		return is(Factor.VERSION, "compared");
	}

	boolean retryTopic() {
		return !is(Factor.RETRY_TOPIC, "none");
	}

	boolean stopping() {
		return is(Factor.ERRORS, "container-stopping");
	}

	boolean replies() {
		return !is(Factor.RESULT, "none");
	}

	boolean unreadable() {
		return is(Factor.RESULT, "not readable");
	}

	boolean outbox() {
		return is(Factor.OUTBOX, "yes");
	}

	boolean manual() {
		return is(Factor.ACK, "MANUAL", "MANUAL_IMMEDIATE");
	}

	/**
	 * Whether the method itself acknowledges.
	 * @return whether it has an {@code Acknowledgment}
	 */
	boolean acknowledges() {
		return manual() && !asynchronous();
	}

	/**
	 * Whether records are declined.
	 * @return whether the method may decline; one that acknowledges a batch may not
	 */
	boolean declines() {
		return is(Factor.DECLINE, "yes") && !losesEffectsOfFailedBatch() && !(batch() && acknowledges());
	}

	/**
	 * Whether the method's own transaction surrounds its effect.
	 * @return whether it is rolled back with the method
	 */
	boolean ownTransaction() {
		return is(Factor.TRANSACTION, "JDBC", "JPA", "REQUIRES_NEW");
	}

	/**
	 * Whether a failed batch is given up as a whole.
	 * @return whether valid records become dead letters
	 */
	boolean batchGivenUp() {
		return is(Factor.SHAPE, "batch without an index") || (batch() && kafkaTransaction())
				|| losesEffectsOfFailedBatch();
	}

	/**
	 * Whether the method's own transaction rolls back effects of records that are
	 * completed, because a later record of the batch has failed.
	 * @return whether the method must not name the failed record
	 */
	boolean losesEffectsOfFailedBatch() {
		return batch() && ownTransaction() && !transactional();
	}

	/**
	 * Whether effects are rolled back if the method fails.
	 * @return whether the method writes them before it fails
	 */
	boolean rollsBack() {
		return transactional() || ownTransaction();
	}

	@Override
	public String toString() {
		Combination usual = usual();
		return this.levels.entrySet()
			.stream()
			.filter((level) -> !usual.is(level.getKey(), level.getValue()))
			.map((level) -> level.getKey().title() + " = " + level.getValue())
			.collect(Collectors.joining("; "));
	}

}
