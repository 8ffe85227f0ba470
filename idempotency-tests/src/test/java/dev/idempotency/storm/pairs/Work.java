/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.storm.pairs.Message.Kind;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * The work of the method of a trial: it writes an effect, and fails or declines as its
 * record demands.
 */
class Work implements BiFunction<ConsumerRecord<String, String>, IdempotentExecution, String> {

	static final String EFFECTS = "pair_effect";

	private static final String NESTED = "nested ";

	private final Combination combination;

	private final String topic;

	private final Queue<Call> calls = new ConcurrentLinkedQueue<>();

	private final Queue<String> violations = new ConcurrentLinkedQueue<>();

	private final Map<String, AtomicInteger> starts = new ConcurrentHashMap<>();

	private final Set<String> running = ConcurrentHashMap.newKeySet();

	private final AtomicInteger sequence = new AtomicInteger();

	private JdbcTemplate jdbc;

	private TransactionTemplate transaction;

	private @Nullable Outbox outbox;

	private @Nullable IdempotencyTemplate template;

	Work(Combination combination, String topic) {
		this.combination = combination;
		this.topic = topic;
	}

	void use(JdbcTemplate jdbc, TransactionTemplate transaction, @Nullable Outbox outbox,
			@Nullable IdempotencyTemplate template) {
		this.jdbc = jdbc;
		this.transaction = transaction;
		this.outbox = outbox;
		this.template = template;
		transaction.executeWithoutResult((status) -> jdbc.execute("CREATE TABLE IF NOT EXISTS " + EFFECTS
				+ " (operation varchar(100), uid varchar(100), version bigint, seq bigint, effect_offset bigint)"));
	}

	Combination combination() {
		return this.combination;
	}

	List<Call> calls() {
		return List.copyOf(this.calls);
	}

	List<String> violations() {
		return List.copyOf(this.violations);
	}

	@Override
	public @Nullable String apply(ConsumerRecord<String, String> record, @Nullable IdempotentExecution execution) {
		return run(record, execution, start(record, execution));
	}

	/**
	 * Process a batch.
	 * @param records the records
	 * @param executions their executions
	 * @return the results
	 */
	List<@Nullable String> applyAll(List<ConsumerRecord<String, String>> records,
			List<@Nullable IdempotentExecution> executions) {
		List<Boolean> fails = new ArrayList<>();
		for (int i = 0; i < records.size(); i++) {
			fails.add(start(records.get(i), execution(executions, i)));
			if (fails.get(i) && this.combination.batchGivenUp()) {
				fail(records.get(i), i);
			}
		}
		List<@Nullable String> results = new ArrayList<>();
		for (int i = 0; i < records.size(); i++) {
			try {
				results.add(run(records.get(i), execution(executions, i), fails.get(i)));
			}
			catch (IllegalArgumentException | OperationDeclinedException ex) {
				throw failure("Failed at " + Message.of(records.get(i)), ex, records.get(i), i);
			}
		}
		return results;
	}

	private static @Nullable IdempotentExecution execution(List<@Nullable IdempotentExecution> executions, int index) {
		return (index < executions.size()) ? executions.get(index) : null;
	}

	private void fail(ConsumerRecord<String, String> record, int index) {
		IllegalArgumentException cause = new IllegalArgumentException("Failed: " + Message.of(record));
		if (this.combination.is(Factor.SHAPE, "batch") && !this.combination.losesEffectsOfFailedBatch()) {
			throw failure("Failed", cause, record, index);
		}
		throw cause;
	}

	// The index counts the records that the method receives. In one of the partitions,
	// the record is named instead.
	private static BatchListenerFailedException failure(String text, RuntimeException cause,
			ConsumerRecord<String, String> record, int index) {
		return (record.partition() == 0) ? new BatchListenerFailedException(text, cause, index)
				: new BatchListenerFailedException(text, cause, record);
	}

	private boolean start(ConsumerRecord<String, String> record, @Nullable IdempotentExecution execution) {
		Message message = Message.of(record);
		String operation = message.operation(this.combination);
		int start = this.starts.computeIfAbsent(operation, (name) -> new AtomicInteger()).incrementAndGet();
		boolean fails = (message.kind() == Kind.ONCE && start == 1)
				|| (message.kind() == Kind.ALWAYS && (!this.combination.stopping() || start <= 2));
		this.calls
			.add(new Call(message, operation, (execution != null) ? execution.attempt() : 0, fails, record.topic()));
		return fails;
	}

	private @Nullable String run(ConsumerRecord<String, String> record, @Nullable IdempotentExecution execution,
			boolean fails) {
		Message message = Message.of(record);
		String operation = message.operation(this.combination);
		if (!this.running.add(operation)) {
			this.violations.add("Two executions of " + operation);
		}
		try {
			int number = 0;
			if (this.combination.rollsBack()) {
				number = effect(message, operation, record.offset(), execution);
			}
			if (fails) {
				throw new IllegalArgumentException("Failed: " + message);
			}
			if (message.kind() == Kind.DECLINED) {
				throw new OperationDeclinedException("declined",
						this.combination.replies() ? operation + "#declined" : null);
			}
			if (!this.combination.rollsBack()) {
				number = effect(message, operation, record.offset(), execution);
			}
			return this.combination.replies() ? operation + "#" + number
					+ (this.combination.is(Factor.RESULT, "too large") ? " ".repeat(300) : "") : null;
		}
		finally {
			this.running.remove(operation);
		}
	}

	// Without a transaction of the method or of the library, the effect has its own.
	private int effect(Message message, String operation, long offset, @Nullable IdempotentExecution execution) {
		int number = this.sequence.incrementAndGet();
		if (this.combination.is(Factor.TRANSACTION, "nested template") && this.template != null) {
			this.template.operation("nested", operation + "@" + message.version())
				.scope(this.topic + "/nested")
				.execute(() -> write(NESTED + operation, message, number, offset));
		}
		this.transaction.executeWithoutResult((status) -> {
			write(operation, message, number, offset);
			if (this.outbox != null) {
				this.outbox.send(OutboxMessage.to(this.topic + "-outbox")
					.key(operation)
					.payload(operation + "@" + message.version())
					.cause(execution)
					.build());
			}
		});
		return number;
	}

	private void write(String operation, Message message, int number, long offset) {
		this.transaction.executeWithoutResult((status) -> this.jdbc.update(
				"INSERT INTO " + EFFECTS + " (operation, uid, version, seq, effect_offset) VALUES (?, ?, ?, ?, ?)",
				operation, message.uid(), message.version(), number, offset));
	}

	/**
	 * A call of the method with a record.
	 *
	 * @param message the message of the record
	 * @param operation its operation
	 * @param attempt the number of the attempt, 0 if the record is not protected
	 * @param fails whether it fails
	 * @param topic the topic of the record
	 */
	record Call(Message message, String operation, int attempt, boolean fails, String topic) {

	}

	/**
	 * A written effect.
	 *
	 * @param operation the operation
	 * @param uid the record
	 * @param version the version of the record
	 * @param number the position of the effect in the order of all effects
	 * @param offset the offset of the record
	 */
	record Effect(String operation, String uid, long version, int number, long offset) {

		static List<Effect> read(JdbcTemplate jdbc, boolean nested) {
			return jdbc
				.query("SELECT operation, uid, version, seq, effect_offset FROM " + EFFECTS + " ORDER BY seq",
						(row, index) -> new Effect(row.getString(1), row.getString(2), row.getLong(3), row.getInt(4),
								row.getLong(5)))
				.stream()
				.filter((effect) -> effect.operation().startsWith(NESTED) == nested)
				.toList();
		}

	}

}
