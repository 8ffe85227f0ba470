/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Levels that no trial combines.
 *
 * @param levels a combination is excluded if it has one of the levels of each factor
 * @param refused whether the start is refused; otherwise the combination does nothing
 * that could be tested
 * @param reason a part of the message of the start, or a sentence
 */
record Exclusion(Map<Factor, List<String>> levels, boolean refused, String reason) {

	private static final String OFFSETS = "is to recognize its records by their offsets, but ";

	private static final String[] ASYNCHRONOUS = { "future", "Mono", "suspend" };

	private static final String[] NOT_JDBC = { "Redis", "Redis cluster", "DynamoDB", "in memory" };

	private static final String[] BATCHES = { "batch", "batch without an index" };

	/**
	 * All exclusions.
	 */
	static final List<Exclusion> ALL = List.of(
			refused("does not support transactions", Factor.MODE, of("transactional"), Factor.STORE, NOT_JDBC),
			refused("is configured for transactional mode, but it is asynchronous", Factor.MODE, of("transactional"),
					Factor.SHAPE, ASYNCHRONOUS),
			refused("is configured for transactional mode, but it has a Kafka transaction in its container",
					Factor.MODE, of("transactional"), Factor.KAFKA_TRANSACTION, of("yes")),
			refused("its own @Transactional suspends the transaction in which the record commits", Factor.MODE,
					of("transactional"), Factor.TRANSACTION, of("REQUIRES_NEW")),
			refused("it is asynchronous, but its container has a Kafka transaction", Factor.SHAPE, ASYNCHRONOUS,
					Factor.KAFKA_TRANSACTION, of("yes")),
			refused("its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE", Factor.ACK,
					of("MANUAL_IMMEDIATE"), Factor.KAFKA_TRANSACTION, of("yes")),
			refused(OFFSETS + "it uses leased mode", Factor.KEY, of("offset"), Factor.MODE, of("leased")),
			refused(OFFSETS + "it uses leased mode", Factor.KEY, of("offset"), Factor.STORE, NOT_JDBC),
			refused(OFFSETS + "it uses leased mode", Factor.KEY, of("offset"), Factor.KAFKA_TRANSACTION, of("yes")),
			refused(OFFSETS + "its method is asynchronous", Factor.KEY, of("offset"), Factor.SHAPE, ASYNCHRONOUS),
			refused(OFFSETS + "it has a retry topic", Factor.KEY, of("offset"), Factor.RETRY_TOPIC,
					of("with dead-letter topic")),
			refused(OFFSETS + "its method returns a value", Factor.KEY, of("offset"), Factor.RESULT,
					of("replied", "too large", "not readable")),
			refused(OFFSETS + "its @Idempotent sets 'fingerprint'", Factor.KEY, of("offset"), Factor.FINGERPRINT,
					of("declared")),
			refused("its own @Transactional suspends the transaction in which the record commits", Factor.KEY,
					of("offset"), Factor.TRANSACTION, of("REQUIRES_NEW")),
			refused("has a version but no key", Factor.VERSION, of("compared"), Factor.KEY,
					of("header", "coordinates", "offset")),
			refused("Cannot use AckMode.RECORD with a batch listener", Factor.SHAPE, BATCHES, Factor.ACK, of("RECORD")),
			untested("Spring Kafka has no retry topics for batches.", Factor.SHAPE, BATCHES, Factor.RETRY_TOPIC,
					of("with dead-letter topic")),
			untested("Spring Kafka does not combine retry topics with transactions of the container.",
					Factor.RETRY_TOPIC, of("with dead-letter topic"), Factor.KAFKA_TRANSACTION, of("yes")),
			untested("Spring Kafka replaces the error handler of a listener with a retry topic.", Factor.RETRY_TOPIC,
					of("with dead-letter topic"), Factor.ERRORS,
					of("with back-off", "not seeking", "container-stopping", "delegating")),
			untested(
					"In a Kafka transaction alone the template refuses each call, because it cannot observe the outcome.",
					Factor.TRANSACTION, of("nested template"), Factor.KAFKA_TRANSACTION, of("yes")),
			untested("Spring Kafka never acknowledges a record of an asynchronous listener that an interceptor drops.",
					Factor.SHAPE, ASYNCHRONOUS, Factor.INTERCEPTION, of("interceptor drops")),
			untested("The transaction of an asynchronous method ends before its statements run.", Factor.SHAPE,
					of("Mono", "suspend"), Factor.TRANSACTION, of("JDBC", "JPA", "REQUIRES_NEW")),
			untested(
					"A container-stopping error handler recovers nothing, so each rejected duplicate stops the container.",
					Factor.ERRORS, of("container-stopping"), Factor.RESULT, of("not readable")),
			// More than two factors, so that no pair is lost.
			new Exclusion(Map.of(Factor.SHAPE, List.of(BATCHES), Factor.ACK, List.of("MANUAL", "MANUAL_IMMEDIATE"),
					Factor.VERSION, List.of("compared")), true, "has a version and an Acknowledgment"),
			new Exclusion(
					Map.of(Factor.MODE, List.of("auto"), Factor.TRANSACTION, List.of("REQUIRES_NEW"), Factor.STORE,
							List.of("PostgreSQL", "PostgreSQL, partitioned", "MariaDB", "MariaDB, driver of MySQL",
									"H2", "migrating"),
							Factor.SHAPE, List.of("record", "class-level", "batch", "batch without an index"),
							Factor.KAFKA_TRANSACTION, List.of("no")),
					true, "its own @Transactional suspends the transaction in which the record commits"));

	private static String[] of(String... levels) {
		return levels;
	}

	private static Exclusion refused(String sentence, Factor one, String[] levels, Factor other, String[] others) {
		return new Exclusion(Map.of(one, List.of(levels), other, List.of(others)), true, sentence);
	}

	private static Exclusion untested(String reason, Factor one, String[] levels, Factor other, String[] others) {
		return new Exclusion(Map.of(one, List.of(levels), other, List.of(others)), false, reason);
	}

	boolean excludes(Combination combination) {
		return this.levels.entrySet()
			.stream()
			.allMatch((entry) -> entry.getValue().contains(combination.levels().getOrDefault(entry.getKey(), "")));
	}

	/**
	 * Return the combinations of this exclusion, each with the usual levels of the other
	 * factors.
	 * @return the combinations
	 */
	List<Combination> combinations() {
		List<Combination> all = List.of(Combination.usual());
		for (Map.Entry<Factor, List<String>> entry : this.levels.entrySet()) {
			all = all.stream()
				.flatMap((one) -> entry.getValue().stream().map(entry.getKey()::level).map(one::with))
				.toList();
		}
		return all;
	}

	/**
	 * Return the exclusion of a combination that may lack factors.
	 * @param combination the combination
	 * @return whether no trial has its levels
	 */
	static boolean any(Combination combination) {
		return ALL.stream().anyMatch((exclusion) -> exclusion.excludes(combination));
	}

	@Override
	public String toString() {
		return Arrays.stream(Factor.values())
			.filter(this.levels::containsKey)
			.map((factor) -> factor.title() + " = " + String.join(" or ", this.levels.get(factor)))
			.collect(Collectors.joining("; "));
	}

}
