/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.storm.pairs.Message.Kind;
import dev.idempotency.storm.pairs.Work.Call;
import dev.idempotency.storm.pairs.Work.Effect;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * Compares what a trial has done with the model.
 */
final class Oracle {

	private static final List<Outcome> NEVER = List.of(Outcome.LOST, Outcome.UNREADABLE, Outcome.REFUSED,
			Outcome.UNAVAILABLE, Outcome.UNPROTECTED);

	private final Combination combination;

	private final Model model;

	private final Traffic traffic;

	private final Evidence evidence;

	private final Set<String> first;

	private final List<String> problems = new ArrayList<>();

	Oracle(Combination combination, Traffic traffic, Evidence evidence) {
		this.combination = combination;
		this.model = new Model(combination);
		this.traffic = traffic;
		this.evidence = evidence;
		this.first = traffic.first().stream().map(Message::uid).collect(Collectors.toSet());
	}

	/**
	 * Judge a trial.
	 * @return the problems, empty if there are none
	 */
	List<String> problems() {
		this.model.operations(this.traffic.all()).forEach(this::checkOperation);
		this.traffic.all().forEach(this::checkMessage);
		checkOrder();
		if (this.combination.replies()) {
			checkReplies();
		}
		checkOutcomes();
		checkRecords();
		checkOutput();
		check(this.evidence.lag() <= ((allows(Limit.ASYNCHRONOUS_LAG) || allows(Limit.RECOVERED_IN_A_REBALANCE))
				? Limit.lag(this.combination) : 0), "lag", this.evidence.lag());
		return this.problems;
	}

	private boolean allows(Limit limit) {
		return limit.applies(this.combination);
	}

	private void check(boolean correct, String name, Object... details) {
		if (!correct) {
			this.problems.add(name + ": " + List.of(details));
		}
	}

	private boolean exact() {
		return this.combination.single();
	}

	private void checkOperation(String operation, List<Message> messages) {
		Message message = messages.get(0);
		List<Effect> effects = this.evidence.effects(operation);
		boolean dead = allows(Limit.BATCH_GIVEN_UP)
				&& messages.stream().allMatch((each) -> this.evidence.dead(each) > 0);
		if (this.combination.versions() && operation.equals(Model.VERSIONED)) {
			List<Long> versions = effects.stream().map(Effect::version).toList();
			check(versions.equals(versions.stream().sorted().distinct().toList()), "versions", versions);
			check(versions.contains(Model.HIGHEST) || (allows(Limit.BATCH_GIVEN_UP) && messages.stream()
				.filter((each) -> each.version() == Model.HIGHEST)
				.allMatch((each) -> this.evidence.dead(each) > 0)), "highest version", versions);
			// A version that has completed begins to count the attempts of the next one
			// anew.
			check(this.combination.batch() || rolledBack() > 0
					|| attempts(operation).stream().allMatch((attempt) -> attempt <= 1), "attempts", operation,
					attempts(operation));
			return;
		}
		int expected = this.model.succeeds(message) ? 1 : 0;
		check(effects.size() == expected || (effects.isEmpty() && dead)
				|| (expected == 1 && effects.size() > 1 && rolledBack() > 0), "effects", operation, message.kind(),
				effects.size(), expected);
		if (exact() && !this.combination.is(Factor.KEY, "offset") && message.kind() != Kind.KEYLESS) {
			List<Integer> attempts = attempts(operation);
			check(rolledBack() > 0 || attempts.equals(IntStream.rangeClosed(1, attempts.size()).boxed().toList()),
					"attempts", operation, attempts);
		}
		if (this.combination.unreadable() && this.model.hasResult(message) && !allows(Limit.BATCH_GIVEN_UP)) {
			long duplicates = messages.stream().filter((each) -> this.evidence.dead(each) > 0).count();
			check(this.combination.batch() ? duplicates < messages.size()
					: (duplicates == messages.size() - 1
							|| (duplicates == messages.size() && allows(Limit.ASYNCHRONOUS_REDELIVERY))),
					"unreadable duplicates", operation, duplicates, messages.size());
		}
	}

	private List<Integer> attempts(String operation) {
		return this.evidence.calls()
			.stream()
			.filter((call) -> call.operation().equals(operation))
			.map(Call::attempt)
			.toList();
	}

	// Return the number of executions that failed after their method had returned.
	private long rolledBack() {
		return allows(Limit.KAFKA_ROLLBACK)
				? this.evidence.count(Outcome.FAILED) - this.evidence.calls().stream().filter(Call::fails).count() : 0;
	}

	private void checkMessage(Message message) {
		List<Call> calls = this.evidence.calls(message);
		long dead = this.evidence.dead(message);
		boolean mayDie = allows(Limit.BATCH_GIVEN_UP)
				|| (this.combination.unreadable() && message.kind() != Kind.MOVED);
		if (message.kind() == Kind.REUSED && allows(Limit.BATCH_GIVEN_UP) && dead == 0) {
			// The first record of its key may have been given up.
			return;
		}
		if (message.kind() == Kind.DROPPED) {
			check(dead == 0 || allows(Limit.BATCH_GIVEN_UP), "dropped dead letter", message);
		}
		else if (this.model.dead(message)) {
			check(dead == 1 || (dead > 1 && (allows(Limit.ASYNCHRONOUS_REDELIVERY) || allows(Limit.BATCH_GIVEN_UP)
					|| allows(Limit.RECOVERED_IN_A_REBALANCE))), "dead letter", message, dead);
		}
		else {
			check(dead == 0 || mayDie, "valid dead letter", message, dead);
		}
		if (message.kind() == Kind.DROPPED || message.kind() == Kind.MOVED || this.model.rejected(message)) {
			check(calls.isEmpty(), "call", message, calls.size());
		}
		else if (message.kind() == Kind.ALWAYS && !this.combination.stopping()) {
			check((exact() && !allows(Limit.ATTEMPTS_IN_A_REBALANCE)) ? calls.size() == TrialApp.ATTEMPTS
					: (calls.size() >= TrialApp.ATTEMPTS || allows(Limit.BATCH_GIVEN_UP)), "calls", message,
					calls.size());
		}
		else if (exact()) {
			check(calls.size() <= ((message.kind() == Kind.NORMAL) ? 1 : TrialApp.ATTEMPTS) + Math.max(0, rolledBack()),
					"calls", message, calls.size());
		}
	}

	private void checkOrder() {
		if (allows(Limit.NO_ORDER) || allows(Limit.VERSIONS_OF_A_BATCH)) {
			return;
		}
		Map<String, Integer> partitions = new HashMap<>();
		this.traffic.all().forEach((message) -> partitions.put(message.uid(), message.partition()));
		for (int partition = 0; partition < Traffic.PARTITIONS; partition++) {
			int number = partition;
			List<Long> offsets = this.evidence.effects()
				.stream()
				.filter((effect) -> partitions.get(effect.uid()) == number)
				.map(Effect::offset)
				// A batch that is repeated as a whole keeps its order.
				.distinct()
				.toList();
			check(offsets.equals(offsets.stream().sorted().toList()), "order of partition " + partition, offsets);
		}
	}

	private void checkReplies() {
		Map<String, Set<String>> values = new HashMap<>();
		this.traffic.all().forEach((message) -> {
			List<String> replies = this.evidence.replies()
				.getOrDefault(this.combination.batch() ? message.operation(this.combination) : message.uid(),
						List.of());
			values
				.computeIfAbsent(message.operation(this.combination) + "@" + message.version(),
						(name) -> new HashSet<>())
				.addAll(replies);
			if (!this.combination.batch()) {
				boolean expected = replied(message);
				check(expected ? replies.size() == 1 || (replies.size() > 1 && allows(Limit.ASYNCHRONOUS_REDELIVERY))
						: replies.isEmpty(), "reply", message, replies.size(), expected);
			}
		});
		values.forEach((operation, different) -> check(
				different.size() <= ((this.combination.batch() && operation.startsWith(Model.VERSIONED)) ? 3 : 1),
				"different replies", operation, different));
		check(!this.evidence.replies().isEmpty(), "no reply");
	}

	private boolean replied(Message message) {
		boolean ran = this.evidence.hasEffect(message)
				|| this.evidence.calls(message).stream().anyMatch((call) -> message.kind() == Kind.DECLINED);
		if (message.kind() == Kind.MOVED || message.kind() == Kind.DROPPED || this.model.dead(message)) {
			return false;
		}
		boolean completed = !this.model.stale(message, this.first.contains(message.uid()));
		return ran || (completed && this.combination.is(Factor.RESULT, "replied"))
				|| (this.combination.is(Factor.RESULT, "too large") && message.kind() == Kind.DECLINED);
	}

	private void checkOutcomes() {
		Map<Outcome, Long> outcomes = this.evidence.outcomes();
		NEVER.forEach((outcome) -> check(this.evidence.count(outcome) == 0, "outcome", outcome, outcomes));
		check(outcomes.equals(this.evidence.meters()), "meters", outcomes, this.evidence.meters());
		check(this.evidence.refused() == 0, "refused calls of the store", this.evidence.refused());
		// The effects of a batch in a Kafka transaction that is rolled back are repeated.
		long effects = (allows(Limit.KAFKA_ROLLBACK) && !exact())
				? this.evidence.effects().stream().map(Effect::uid).distinct().count() : this.evidence.effects().size();
		check(this.evidence.count(Outcome.PROCESSED) + ((exact()) ? rolledBack() : 0) == effects, "processed", outcomes,
				effects);
		check(Objects.equals(this.evidence.notStored().get(0), this.evidence.notStored().get(1)), "not stored",
				this.evidence.notStored());
		if (!this.combination.batch()) {
			long failed = this.evidence.calls().stream().filter(Call::fails).count();
			check(this.evidence.count(Outcome.FAILED) == failed + rolledBack(), "failed", outcomes, failed);
			long declined = this.evidence.calls()
				.stream()
				.filter((call) -> call.message().kind() == Kind.DECLINED)
				.count();
			check(this.evidence.count(Outcome.DECLINED) == declined, "declined", outcomes, declined);
		}
		if (exact() && this.combination.is(Factor.RESULT, "too large")) {
			check(this.evidence.notStored().get(0) == this.evidence.effects().size(), "not stored",
					this.evidence.notStored(), this.evidence.effects().size());
		}
		if (!allows(Limit.BATCH_GIVEN_UP)) {
			checkRejected(outcomes);
			checkDuplicates(outcomes);
		}
	}

	// A record without a key has no outcome, and one that is redelivered has several.
	private void checkRejected(Map<Outcome, Long> outcomes) {
		long rejected = this.traffic.all()
			.stream()
			.filter((message) -> message.kind() == Kind.REUSED && this.model.rejected(message))
			.count();
		check(this.evidence.count(Outcome.REJECTED) >= rejected, "rejected", outcomes, rejected);
	}

	private void checkDuplicates(Map<Outcome, Long> outcomes) {
		long duplicates = this.traffic.all()
			.stream()
			.filter((message) -> message.kind() != Kind.DROPPED && !this.model.rejected(message)
					&& !this.model.stale(message, this.first.contains(message.uid()))
					// A higher version may have been done before.
					&& (exact() || !message.operation(this.combination).equals(Model.VERSIONED))
					// A retry topic may deliver a failed record behind its copy.
					&& this.evidence.calls(message).stream().allMatch(Call::fails) && !this.model.dead(message))
			.count();
		// A rebalance redelivers records whose offsets are not committed yet.
		long other = this.evidence.count(Outcome.OTHER_CONTENT);
		check(this.combination.unreadable() || other > 0
				|| this.traffic.all()
					.stream()
					.noneMatch((message) -> this.combination.keyed() && message.kind() == Kind.REUSED
							&& !this.model.rejected(message)),
				"other content", outcomes);
		long more = this.evidence.count(Outcome.DUPLICATE) + other - duplicates;
		check(this.combination.unreadable() || more == 0
				|| (more > 0 && (!exact() || this.combination.is(Factor.CONSUMERS, "two"))), "duplicates", outcomes,
				duplicates);
	}

	private void checkRecords() {
		this.model.operations(this.traffic.all()).forEach((operation, messages) -> {
			Optional<IdempotencyRecord> record = this.evidence.records().get(operation);
			if (record == null) {
				return;
			}
			State state = record.map(IdempotencyRecord::state).orElse(null);
			Kind kind = messages.get(0).kind();
			boolean completed = !this.evidence.effects(operation).isEmpty() || kind == Kind.DECLINED
					|| kind == Kind.MOVED;
			check((completed && state == State.COMPLETED) || (!completed && (state == State.FAILED || state == null))
					|| (allows(Limit.BATCH_GIVEN_UP) && state != State.IN_PROGRESS
			// A higher version may have been given up.
							&& (kind == Kind.DECLINED || operation.equals(Model.VERSIONED))),
					"record", operation, kind, String.valueOf(state));
		});
	}

	private void checkOutput() {
		List<String> effects = names(this.evidence.effects());
		if (this.combination.outbox()) {
			check(this.evidence.messages().stream().sorted().toList().equals(effects), "outbox",
					difference(this.evidence.messages(), effects));
		}
		if (this.combination.is(Factor.TRANSACTION, "nested template")) {
			List<String> nested = names(this.evidence.nested()).stream().map((name) -> name.substring(7)).toList();
			check(nested.equals(effects), "nested", difference(nested, effects));
		}
	}

	private static List<String> names(Collection<Effect> effects) {
		return effects.stream().map((effect) -> effect.operation() + "@" + effect.version()).sorted().toList();
	}

	private static String difference(List<String> actual, List<String> expected) {
		List<String> more = new ArrayList<>(actual);
		expected.forEach(more::remove);
		List<String> missing = new ArrayList<>(expected);
		actual.forEach(missing::remove);
		return "more " + more + ", missing " + missing;
	}

}
