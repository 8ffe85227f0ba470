/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.function.Predicate;

/**
 * Documented deviations that the oracle allows.
 */
enum Limit {

	/**
	 * A batch is given up as a whole.
	 */
	BATCH_GIVEN_UP(
			"A batch that fails without an index, or in a Kafka transaction, is given up as a whole: valid "
					+ "records become dead letters, too, and take effect when they are sent again.",
			Combination::batchGivenUp),

	/**
	 * The method's own transaction rolls back records that count as done.
	 */
	OWN_TRANSACTION_OF_A_BATCH(
			"In leased mode, a batch whose method has its own transaction must fail as a whole: the "
					+ "records before a failed or declined one are completed, but their effects are rolled back.",
			Combination::losesEffectsOfFailedBatch),

	/**
	 * Replies of batches.
	 */
	REPLIES_OF_A_BATCH("The records of a batch before a failed one may have no reply, and a batch that is retried as a "
			+ "whole replies again.", (combination) -> combination.batch() && combination.replies()),

	/**
	 * Nothing is recovered.
	 */
	NOTHING_RECOVERED(
			"A container-stopping error handler recovers nothing: the application starts the container again, "
					+ "and the record is redelivered.",
			Combination::stopping),

	/**
	 * No memory of copies.
	 */
	COPIES_ARE_NEW("Without a key, a copy is a new operation. Offsets count no attempts.",
			(combination) -> !combination.keyed()),

	/**
	 * No order.
	 */
	NO_ORDER("Asynchronous listeners and retry topics keep no order.",
			(combination) -> combination.asynchronous() || combination.retryTopic()),

	/**
	 * Redeliveries of asynchronous listeners.
	 */
	ASYNCHRONOUS_REDELIVERY(
			"While a record of an asynchronous listener is retried, the later records of its partition "
					+ "are delivered again: they reply again, and a dead letter may be published twice.",
			Combination::asynchronous),

	/**
	 * An interrupted commit.
	 */
	ASYNCHRONOUS_LAG(
			"Before Spring Kafka 4.0.8 and 4.1.2, the records of the last poll of an asynchronous listener may "
					+ "remain uncommitted.",
			Combination::asynchronous),

	/**
	 * A Kafka transaction that fails at its end.
	 */
	KAFKA_ROLLBACK(
			"A Kafka transaction that is rolled back after the method has returned, for example in a rebalance, "
					+ "repeats the method: its effects outside of Kafka are repeated, and the outcome is 'failed'.",
			Combination::kafkaTransaction),

	/**
	 * Attempts in a rebalance.
	 */
	ATTEMPTS_IN_A_REBALANCE("A rebalance makes the error handler count the attempts of a record from one again.",
			(combination) -> combination.is(Factor.CONSUMERS, "two")),

	/**
	 * Attempts of batches.
	 */
	ATTEMPTS_OF_A_BATCH("The number of attempts of a record of a batch can be higher than configured, never lower.",
			Combination::batch),

	/**
	 * Versions of a batch.
	 */
	VERSIONS_OF_A_BATCH("A batch receives the highest version of a key only, at its place.",
			(combination) -> combination.batch() && combination.versions()),

	/**
	 * A counted acknowledgment.
	 */
	COUNTED_ACKNOWLEDGMENT(
			"With the ack modes COUNT and COUNT_TIME, the last offsets are committed when the container " + "stops.",
			(combination) -> combination.is(Factor.ACK, "COUNT", "COUNT_TIME")),

	/**
	 * A commit that fails in a rebalance.
	 */
	RECOVERED_IN_A_REBALANCE(
			"With two consumers in the cooperative protocol, Spring Kafka does not repeat the commit of a record that "
					+ "an error handler has recovered in a rebalance, in MANUAL_IMMEDIATE and of a batch: its offset "
					+ "may remain uncommitted, and a dead letter may be published twice.",
			Limit::commitsInARebalance),

	/**
	 * Unreadable results.
	 */
	RESULT_NOT_READABLE(
			"The duplicates of an operation whose stored result cannot be read are handed to the recoverer, "
					+ "and their method does not run.",
			Combination::unreadable);

	/**
	 * The records of a poll.
	 */
	static final int POLL = 8;

	private final String sentence;

	private final Predicate<Combination> condition;

	Limit(String sentence, Predicate<Combination> condition) {
		this.sentence = sentence;
		this.condition = condition;
	}

	String sentence() {
		return this.sentence;
	}

	/**
	 * Return the lag that may remain while the application runs.
	 * @param combination the combination
	 * @return the number of records
	 */
	static long lag(Combination combination) {
		// As many as were recovered during the rebalance.
		return RECOVERED_IN_A_REBALANCE.applies(combination) ? Long.MAX_VALUE
				: ASYNCHRONOUS_LAG.applies(combination) ? (long) POLL * Traffic.PARTITIONS
						: COUNTED_ACKNOWLEDGMENT.applies(combination) ? Traffic.PARTITIONS : 0;
	}

	// The error handlers of retry topics always commit. With a Kafka transaction, the
	// offset is sent to the transaction.
	private static boolean commitsInARebalance(Combination combination) {
		return combination.is(Factor.CONSUMERS, "two") && combination.is(Factor.PROTOCOL, "cooperative")
				&& !combination.kafkaTransaction() && !combination.stopping()
				&& (combination.batch() || (combination.is(Factor.ACK, "MANUAL_IMMEDIATE")
						&& (combination.retryTopic() || !combination.asynchronous())));
	}

	boolean applies(Combination combination) {
		return this.condition.test(combination);
	}

}
